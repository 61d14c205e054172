import { Download, FileCheck2, KeyRound, Pin } from "lucide-react";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { Problem } from "../api/client";
import { now } from "../api/clock";
import { pin, unpin, usePinned } from "../data/pinned";
import { useEncryption, useKeysOnRecord } from "../data/proof";
import { Button } from "../parts/button";
import { Card, Note } from "../parts/card";
import { Chip } from "../parts/chip";
import { Id } from "../parts/id";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Part } from "../parts/page";
import type { PublicKey } from "../text/proof";
import { Table } from "../parts/table";
import { exact } from "../parts/time";
import { begin } from "./verify";
import css from "./proof.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;

/** save gives a file to the person who asked for it. */
export function save(name: string, data: BlobPart, type: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Keys lists what signatures are checked with, and holds the witness. */
export function Keys({ may }: { may: boolean }) {
  const keys = useKeysOnRecord();
  const sealed = useEncryption().data;
  if (keys.error) return <Failure error={keys.error} />;
  if (!keys.data) return <Skeleton rows={4} height={36} />;
  return (
    <>
      {keys.data.length === 0 ? (
        <Empty title="There is no key here">
          This server signs nothing and checks no signature. Start it with a key of its data directory, and every
          decision is signed.
        </Empty>
      ) : (
        <Part title="Keys" says="who signed what is on record, since when, and until when">
          <Table
            label="keys"
            columns={[
              { name: "Key" },
              { name: "State" },
              { name: "Since" },
              { name: "Retired", grow: true },
              { name: "In this browser" },
              { name: "File", end: true },
            ]}
            rows={keys.data.map((k) => ({
              key: k.id,
              cells: [
                <Id key="id" whole>
                  {k.id}
                </Id>,
                <Chip key="state" state={k.signs ? "signs" : k.notAfter ? "retired" : "known"} />,
                k.notBefore ? exact(k.notBefore) : "from the beginning",
                k.notAfter ? exact(k.notAfter) : "no",
                <Pinning key="pin" of={k} />,
                <Button
                  key="save"
                  className={css.small}
                  icon={<Download {...icon} size={14} />}
                  onClick={() => save(`${k.id.replace(/[^a-z0-9]+/gi, "-")}.pub`, k.pem, "application/x-pem-file")}
                >
                  Public key
                </Button>,
              ],
            }))}
          />
          <Pins given={keys.data.map((k) => k.id)} />
          <p className={css.quiet}>
            <KeyRound {...icon} size={14} />{" "}
            {sealed?.encryptsAtRest
              ? `Bodies are encrypted before they reach the store, with key ${sealed.encryptionKey ?? ""}.`
              : "Bodies are not encrypted by this server; the store's disk may be."}
          </p>
        </Part>
      )}
      {may ? (
        <div className={css.cards}>
          <Witness />
          <Check />
        </div>
      ) : (
        <p className={css.quiet}>An operator downloads and checks witnesses.</p>
      )}
    </>
  );
}

/** Pinning pins a key in this browser, or lets it go. */
function Pinning({ of }: { of: PublicKey }) {
  const here = usePinned().find((k) => k.id === of.id);
  if (here && here.pem.trim() !== of.pem.trim()) return <>another key is pinned</>;
  return (
    <Button
      className={css.small}
      aria-pressed={here !== undefined}
      icon={<Pin {...icon} size={14} />}
      onClick={() => (here ? unpin(of.id) : pin({ id: of.id, pem: of.pem }))}
    >
      {here ? "Pinned" : "Pin"}
    </Button>
  );
}

/** Pins says what pinning does, and lists pinned keys that the server does not give. */
function Pins({ given }: { given: string[] }) {
  const pinned = usePinned();
  const gone = pinned.filter((k) => !given.includes(k.id));
  return (
    <div className={css.pins}>
      <p>
        {pinned.length === 0
          ? "No key is pinned in this browser: it checks signatures with the keys that the server gives. Compare a key with one that you have from elsewhere, and pin it. From then on only pinned keys count here."
          : "This browser checks signatures with its pinned keys alone. An entry that another key signed is not verified here, whatever the server says."}
      </p>
      {gone.map((k) => (
        <p key={k.id} role="alert">
          The pinned key <Id>{k.id}</Id> is not among the server's keys.{" "}
          <Button className={css.small} onClick={() => unpin(k.id)}>
            Remove the pin
          </Button>
        </p>
      ))}
    </div>
  );
}

/** Witness downloads a signed statement of where every thread ends. */
function Witness() {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const answer = await fetch("/api/witness", { headers: { Accept: "application/json, */*" } });
      if (!answer.ok) throw new Problem({ detail: answer.statusText, ...(await answer.json()) });
      const day = new Date(now()).toISOString().slice(0, 16).replace(/[:T]/g, "-");
      save(`posthouse-witness-${day}.json`, await answer.text(), "application/json");
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Witness" icon={<Download {...icon} />} label="download a witness">
      <p className={css.says}>
        A signature does not show what came after it: a store that was put back to an older state is whole in itself. A
        witness says where every thread ends now. Keep the file on another machine.
      </p>
      {error !== undefined && <Failure error={error} />}
      <p className={css.line}>
        <Button disabled={busy} onClick={() => void download()}>
          Download a witness
        </Button>
      </p>
    </Card>
  );
}

/** largest is how many bytes of a witness the server takes. */
const largest = 16 << 20;

/** Check has the server compare the store with a witness of an earlier time. */
function Check() {
  const [, go] = useLocation();
  const file = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<unknown>();
  const check = async (chosen: File | undefined) => {
    if (!chosen) return;
    setError(undefined);
    try {
      if (chosen.size > largest)
        throw new Problem({
          code: "too-large",
          detail: "This file is larger than a witness that the server takes, 16 MiB.",
          hint: "run posthouse verify --witness FILE where the store is",
        });
      await begin({ witness: await chosen.text() });
      go("/proof");
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Card title="Check a witness" icon={<FileCheck2 {...icon} />} label="check a witness">
      <p className={css.says}>
        The whole store is verified, and each thread is compared with what the witness saw: it must still have that
        entry, with that hash.
      </p>
      {error !== undefined && <Failure error={error} safe="Nothing was verified." />}
      <p className={css.line}>
        <input
          ref={file}
          type="file"
          accept=".json,application/json"
          className="visually-hidden"
          aria-label="witness file"
          tabIndex={-1}
          onChange={(e) => {
            void check(e.target.files?.[0]);
            e.target.value = "";
          }}
        />
        <Button onClick={() => file.current?.click()}>Choose a file</Button>
      </p>
      <Note icon={<KeyRound {...icon} size={14} />}>A witness that no key here has signed is refused.</Note>
    </Card>
  );
}
