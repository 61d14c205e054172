import { useQuery } from "@tanstack/react-query";
import { FileUp } from "lucide-react";
import { useMemo, useState, type DragEvent } from "react";
import { api, get, Problem, type Schemas } from "../api/client";
import { Button } from "../parts/button";
import { Chip } from "../parts/chip";
import { Differing } from "../parts/difference";
import { Id } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Hidden, Said } from "../parts/said";
import { useWide } from "../parts/wide";
import { Bar } from "../shell/bar";
import { useKeys } from "../shell/keys";
import { diff } from "../text/diff";
import { onRecord, texts } from "../text/json";
import { itemsOf, type Item } from "./items";
import { layout } from "./lanes";
import { Rows } from "./rows";
import { nameOf } from "./tell";
import css from "./file.module.css";

type Seen = { name: string; data: string; file: Schemas["File"] };

/** So much of a file is looked at, as the server's limit says. */
const most = 18 << 20;

async function base64(file: File): Promise<string> {
  if (file.size > most)
    throw new Problem({
      code: "too-large",
      detail: `${file.name} has ${file.size} bytes, more than the ${most} that are looked at here`,
      hint: "import it with posthouse thread import into a store of its own, and open that",
    });
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32_768) text += String.fromCharCode(...bytes.subarray(i, i + 32_768));
  return btoa(text);
}

const look = (data: string, checkpoint?: string) =>
  get(api.POST("/api/files", { body: { file: data, ...(checkpoint ? { checkpoint } : {}) } }));

/** FileScreen shows a thread that was exported into a file. Nothing of it is kept. */
export function FileScreen() {
  const [seen, setSeen] = useState<Seen>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const open = async (file: File | undefined) => {
    if (!file) return;
    setBusy(true);
    setError(undefined);
    try {
      const data = await base64(file);
      setSeen({ name: file.name, data, file: await look(data) });
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  if (seen) return <Looked key={seen.data.length + seen.name} seen={seen} close={() => setSeen(undefined)} />;
  const drop = (e: DragEvent) => {
    e.preventDefault();
    void open(e.dataTransfer.files[0]);
  };
  return (
    <>
      <Bar up={{ name: "Threads", href: "/threads" }} title="exported to a file" />
      <div className={css.open} onDragOver={(e) => e.preventDefault()} onDrop={drop}>
        <label className={css.drop}>
          <FileUp size={24} strokeWidth={1.5} aria-hidden />
          <b>{busy ? "Reading the file" : "Open an exported thread"}</b>
          <span>
            Choose a file, or drop it here. Its hashes are checked, and nothing of it is kept. Export in the menu of a
            thread makes one, as does <code>posthouse thread export</code>.
          </span>
          <input type="file" disabled={busy} onChange={(e) => void open(e.target.files?.[0])} />
        </label>
        {error !== undefined && <Failure error={error} />}
      </div>
    </>
  );
}

function Looked({ seen, close }: { seen: Seen; close: () => void }) {
  const { file } = seen;
  const wide = useWide();
  const [at, setAt] = useState<string>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const rows = file.rows;
  const chosen = rows.find((r) => r.id === at)?.branch ?? rows[0]?.branch ?? "main";
  const items = useMemo(
    () => itemsOf(rows, { thread: file.thread, filter: "all", opened, ...(at ? { at } : {}) }),
    [rows, file.thread, opened, at],
  );
  const lanes = useMemo(() => layout(items, wide ? 8 : 3, chosen, !file.more), [items, wide, chosen, file.more]);
  const looked = at ?? rows[0]?.id;
  const step = (by: number) => {
    const next = items[items.findIndex((i) => i.id === looked) + by];
    if (next) setAt(next.id);
  };
  useKeys({
    ArrowLeft: () => step(1),
    ArrowRight: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    j: () => step(1),
    k: () => step(-1),
    Escape: () => setAt(undefined),
  });
  const toggle = (item: Item) => setOpened((before) => new Set([...before, item.id]));
  return (
    <>
      <Bar
        up={{ name: "Threads", href: "/threads" }}
        title={<Said>{file.thread}</Said>}
        end={<Button onClick={close}>Close the file</Button>}
      >
        <Chip state={file.status || "saved"} />
      </Bar>
      <p className={css.note} role="note">
        This is the file <Said>{seen.name}</Said>: {file.entries} entries, {file.checkpoints} checkpoints. Hashes are
        checked. Nothing of it is in the store.
      </p>
      <Signatures file={file} />
      <div className={css.file}>
        <Rows
          thread={{ thread: file.thread, branches: file.branches, tail: file.tail }}
          items={items}
          layout={lanes}
          chosen={chosen}
          at={looked}
          where={{ tab: "change", ...(at ? { at } : {}) }}
          opened={opened}
          look={(i) => setAt(i.id)}
          toggle={toggle}
          more={() => {}}
          file
        />
        {looked && (wide || at) && (
          <State key={looked} seen={seen} row={rows.find((r) => r.id === looked)} close={() => setAt(undefined)} />
        )}
      </div>
    </>
  );
}

/** Signatures says who signed a file, and whether this server knows the key. */
function Signatures({ file }: { file: Schemas["File"] }) {
  const { signed } = file;
  if (!signed) return null;
  const { covered, last, keys, faults } = signed;
  const strangers = keys.filter((k) => !k.known);
  const good = covered > 0 && faults.length === 0;
  return (
    <div className={good ? css.signed : css.unsigned} role={good ? "note" : "alert"}>
      {covered > 0 && (
        <p>
          Signatures by a key that this server knows cover {covered} of {file.entries} entries, up to #{last}:{" "}
          {keys
            .filter((k) => k.valid > 0)
            .map((k) => (
              <Id key={k.id}>{k.id}</Id>
            ))}
        </p>
      )}
      {keys.length === 0 && <p>Nobody signed it. Whoever wrote this file could have put anything into it.</p>}
      {strangers.length > 0 && (
        <p>
          Signed by {strangers.length === 1 ? "a key that this server does" : "keys that this server does"} not know.
          That proves nothing here: compare it with the keys of the server that it came from.{" "}
          {strangers.map((k) => (
            <Id key={k.id}>{k.id}</Id>
          ))}
        </p>
      )}
      {faults.map((f, i) => (
        <p key={i}>
          {f.seq ? `#${f.seq}: ` : ""}
          <Said>{f.message}</Said>
        </p>
      ))}
    </div>
  );
}

function State({ seen, row, close }: { seen: Seen; row: Schemas["Row"] | undefined; close: () => void }) {
  const id = row?.id ?? "";
  const found = useQuery({
    queryKey: ["file", seen.name, seen.data.length, id],
    enabled: id !== "",
    queryFn: () => look(seen.data, id),
    staleTime: Infinity,
    gcTime: 60_000,
  });
  const [before, after] = [onRecord(found.data?.before), onRecord(found.data?.state)];
  return (
    <aside className={css.state} aria-label="checkpoint">
      <h2>
        #{row?.seq} <Said>{row ? nameOf(row) : ""}</Said>
        <Button className={css.close} onClick={close}>
          Close
        </Button>
      </h2>
      {found.isPending && <Skeleton rows={6} height={28} />}
      {found.error && <Failure error={found.error} />}
      {after && (
        <>
          <Hidden texts={texts(after)} />
          <Differing diff={diff(before ?? after, after)} />
        </>
      )}
    </aside>
  );
}
