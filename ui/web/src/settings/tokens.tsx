import { KeyRound } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api, get, Problem, type Role, type Schemas } from "../api/client";
import { now } from "../api/clock";
import { useTokens, type Token } from "../data/proof";
import { queries } from "../data/query";
import { announce } from "../parts/announce";
import { Button } from "../parts/button";
import { Card } from "../parts/card";
import { Chip } from "../parts/chip";
import { Dialog } from "../parts/dialog";
import { Id } from "../parts/id";
import { Failure, Skeleton } from "../parts/notice";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago, exact } from "../parts/time";
import css from "./settings.module.css";

const again = () => queries.invalidateQueries({ queryKey: ["tokens"] });

const roles: [Role, string][] = [
  ["viewer", "reads"],
  ["approver", "reads and decides"],
  ["operator", "does everything"],
  ["worker", "handles tasks, and nothing else"],
];

const ends: [string, number][] = [
  ["in 30 days", 30],
  ["in 90 days", 90],
  ["in a year", 365],
  ["never", 0],
];

/** Tokens lists access tokens, makes some, and revokes them. */
export function Tokens() {
  const list = useTokens(true);
  const [made, setMade] = useState<Schemas["Created"]>();
  const [going, setGoing] = useState<Token>();
  const [meant, setMeant] = useState<Token>();
  if (list.error) return <Failure error={list.error} />;
  if (!list.data) return <Skeleton rows={6} height={36} />;
  return (
    <div className={css.column}>
      {made ? <Shown made={made} close={() => setMade(undefined)} /> : <Create made={setMade} />}
      <Card title="Tokens" also={String(list.data.length)} label="tokens">
        <Table
          label="access tokens"
          columns={[
            { name: "Name" },
            { name: "Role" },
            { name: "State" },
            { name: "Ends", grow: true },
            { name: "Made by" },
            { name: "Last used", end: true },
            { name: "", end: true },
          ]}
          rows={list.data.map((t) => ({
            key: t.name,
            cells: [
              <Said key="name">{t.name}</Said>,
              t.role,
              <Chip key="state" state={t.expired ? "expired" : "good"} />,
              t.expiresAt ? exact(t.expiresAt) : "never",
              t.confirmed ? (
                <Said key="maker">{t.maker}</Said>
              ) : (
                <Button
                  key="maker"
                  className={css.small}
                  aria-label={`confirm ${t.name}, made by ${t.maker}`}
                  onClick={() => setMeant(t)}
                >
                  Confirm
                </Button>
              ),
              t.lastUsedAt ? <Ago at={t.lastUsedAt} /> : "",
              t.you ? (
                "you"
              ) : (
                <Button
                  key="revoke"
                  tone="danger"
                  className={css.small}
                  aria-label={`revoke ${t.name}`}
                  onClick={() => setGoing(t)}
                >
                  Revoke
                </Button>
              ),
            ],
          }))}
        />
      </Card>
      <Confirm of={meant} close={() => setMeant(undefined)} />
      <Revoke of={going} close={() => setGoing(undefined)} />
    </div>
  );
}

/** Confirm says that a token is another person's than its maker's. */
function Confirm({ of, close }: { of: Token | undefined; close: () => void }) {
  const [error, setError] = useState<unknown>();
  const end = () => {
    setError(undefined);
    close();
  };
  const confirm = async () => {
    try {
      await get(api.POST("/api/tokens/{owner}/confirm", { params: { path: { owner: of?.name ?? "" } } }));
      await again();
      end();
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog open={of !== undefined} close={end} title="Confirm a token">
      <h2>
        Confirm the token of <Said>{of?.name}</Said>
      </h2>
      <p>
        <Said>{of?.maker}</Said> made it, so the two count as one person at every question. Confirm it if you know that
        somebody else has it.
      </p>
      {error !== undefined && <Failure error={error} safe="The token is as it was." />}
      <p className={css.line}>
        <Button onClick={() => void confirm()}>Confirm</Button>
        <Button onClick={end}>Back</Button>
      </p>
    </Dialog>
  );
}

const rule = "Letters, digits and . _ : $ @ + - without spaces";

/** nameFault says what a token cannot be called. */
export function nameFault(name: string): string {
  const bad = /[^A-Za-z0-9._:$@+-]/u.exec(name)?.[0];
  if (bad === undefined) return "";
  return bad === " " ? `A space is not allowed. ${rule}.` : `“${bad}” is not allowed. ${rule}.`;
}

function Create({ made }: { made: (c: Schemas["Created"]) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [days, setDays] = useState(90);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const create = async () => {
    const found = nameFault(name.trim());
    setWrong(found);
    if (found) return field.current?.focus();
    setBusy(true);
    setError(undefined);
    const expiresAt = days ? { expiresAt: new Date(now() + days * 86_400_000).toISOString() } : {};
    try {
      made(await get(api.POST("/api/tokens", { body: { name: name.trim(), role, ...expiresAt } })));
      await again();
    } catch (e) {
      setError(e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="Make a token" icon={<KeyRound size={16} strokeWidth={1.5} aria-hidden />} label="make a token">
      <form
        className={css.form}
        aria-label="make a token"
        onSubmit={(e) => {
          e.preventDefault();
          void create();
        }}
      >
        {error !== undefined && (
          <Failure error={error} safe={error instanceof Problem && error.body.status ? "No token was made." : ""} />
        )}
        <div className={css.fields}>
          <label>
            Name
            <input
              ref={field}
              required
              maxLength={200}
              autoComplete="off"
              aria-describedby="token-name"
              aria-invalid={wrong !== "" || undefined}
              placeholder="what it does is recorded under it"
              value={name}
              onChange={(e) => {
                setName(e.target.value);
                setWrong("");
              }}
            />
            <span id="token-name" className={wrong ? css.bad : undefined} role={wrong ? "alert" : undefined}>
              <Said>{wrong || rule}</Said>
            </span>
          </label>
          <label>
            Role
            <select value={role} onChange={(e) => setRole(e.target.value as Role)}>
              {roles.map(([r, says]) => (
                <option key={r} value={r}>
                  {r}: {says}
                </option>
              ))}
            </select>
          </label>
          <label>
            Ends
            <select value={days} onChange={(e) => setDays(Number(e.target.value))}>
              {ends.map(([says, d]) => (
                <option key={d} value={d}>
                  {says}
                </option>
              ))}
            </select>
          </label>
          <Button type="submit" disabled={busy || name.trim() === ""}>
            Make it
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** Shown shows a secret once: it is in the memory of this page, and nowhere else. It takes the focus and is read out. */
function Shown({ made, close }: { made: Schemas["Created"]; close: () => void }) {
  const at = useRef<HTMLDivElement>(null);
  useEffect(() => {
    at.current?.querySelector("button")?.focus();
    announce(`The token of ${made.name} is made. Copy it now: it is not shown again.`);
  }, []);
  return (
    <Card
      title={
        <>
          The token of <Said>{made.name}</Said>
        </>
      }
      label="the new token"
    >
      <div ref={at} className={css.secret}>
        <p>
          Copy it now and give it to the person or program that will use it. It is not shown again: the server keeps
          only its hash.
        </p>
        <Id whole>{made.token}</Id>
        <p className={css.says}>
          {made.role}, {made.expiresAt ? `until ${exact(made.expiresAt)}` : "without an end"}
        </p>
        <Button onClick={close}>I have copied it</Button>
      </div>
    </Card>
  );
}

/** Revoke is confirmed with the token's name: it cannot be taken back. */
function Revoke({ of, close }: { of: Token | undefined; close: () => void }) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<unknown>();
  const end = () => {
    setTyped("");
    setError(undefined);
    close();
  };
  const revoke = async () => {
    try {
      await get(api.DELETE("/api/tokens/{owner}", { params: { path: { owner: of?.name ?? "" } } }));
      await again();
      end();
    } catch (e) {
      setError(e);
    }
  };
  return (
    <Dialog open={of !== undefined} close={end} title="Revoke a token">
      <form
        className={css.dialog}
        onSubmit={(e) => {
          e.preventDefault();
          void revoke();
        }}
      >
        <h2>
          Revoke the token of <Said>{of?.name}</Said>
        </h2>
        <p>
          It ends at once, with its browsers and open streams. What was done with it stays on record. This cannot be
          taken back.
        </p>
        {error !== undefined && <Failure error={error} safe="The token is as it was." />}
        <label>
          Type its name
          <input autoFocus autoComplete="off" value={typed} onChange={(e) => setTyped(e.target.value)} />
        </label>
        <p className={css.line}>
          <Button type="submit" tone="danger" disabled={typed !== of?.name}>
            Revoke
          </Button>
          <Button onClick={end}>Back</Button>
        </p>
      </form>
    </Dialog>
  );
}
