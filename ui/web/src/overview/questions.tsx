import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { Waits } from "../data/overview";
import { Button } from "../parts/button";
import { Failure } from "../parts/notice";
import { Part, Quiet } from "../parts/page";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import css from "./overview.module.css";

type Question = Waits["questions"][number];
type Person = Question["people"][number];

/** span says a length such as 8h55m31.8s in its largest units. */
export function span(text: string | undefined): string {
  const m = /^(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)(ms|s))?/.exec(text ?? "");
  if (!m || !text) return "";
  const [hours, minutes, rest] = [Number(m[1] ?? 0), Number(m[2] ?? 0), Number(m[3] ?? 0)];
  if (hours >= 48) return `${Math.floor(hours / 24)} d`;
  if (hours > 0) return `${hours} h`;
  if (minutes > 0) return `${minutes} min`;
  return m[4] === "ms" ? "0 s" : `${Math.floor(rest)} s`;
}

/** figure says a count. Where not all was looked at, it is that many or more. */
const figure = (n: number, more = false) => (n || more ? `${n.toLocaleString("en")}${more ? "+" : ""}` : <Zero />);

const Zero = () => <span className={css.zero}>0</span>;

const first = 12;

/** Questions shows what waits for people: by question, and by person where the role allows. */
export function Questions({
  may,
  waits,
  open,
  more,
  error,
}: {
  may: boolean;
  waits: Waits | undefined;
  open: Record<string, number> | undefined;
  more: boolean | undefined;
  error: unknown;
}) {
  if (error) return <Failure error={error} />;
  if (waits)
    return (
      <>
        <Part
          title="Waits by question"
          says={`open now, and decided in the last 30 days${waits.more ? "; the newest are counted" : ""}`}
        >
          {waits.questions.length === 0 ? (
            <Quiet>No program has asked anything in this time.</Quiet>
          ) : (
            <Rows
              name="Question"
              rows={waits.questions.map((q) => ({ name: q.question, figures: q }))}
              more={waits.more}
            />
          )}
        </Part>
        {waits.questions.length > 0 && (
          <Part
            title="Waits by person"
            says="theirs to decide now, and how long that waited: the median of their slowest question"
          >
            <Rows name="Person" rows={people(waits.questions)} more={waits.more} />
          </Part>
        )}
      </>
    );
  // Without waits the person is no operator, or they are not here yet.
  const names = Object.entries(open ?? {}).sort((a, b) => b[1] - a[1]);
  if (!open) return null;
  return (
    <Part
      title="Waits by question"
      says={
        may
          ? "open now; who decided and how fast is being counted"
          : "open now; who decided, how fast and how much a day is shown to operators"
      }
    >
      {names.length === 0 ? (
        <Quiet>Nothing waits for a decision.</Quiet>
      ) : (
        <Table
          label="waits by question"
          columns={[
            { name: "Question", grow: true },
            { name: "Open", end: true },
          ]}
          rows={names.map(([name, n]) => ({
            key: name,
            cells: [
              <Said key="name">{name}</Said>,
              <Link key="n" href={inbox({ show: "open", question: name })}>
                {figure(n, more)}
              </Link>,
            ],
          }))}
        />
      )}
    </Part>
  );
}

type Figures = Pick<Person, "open" | "openSince" | "decided" | "wait" | "expired">;

/** people adds up each person's figures over all questions. Of medians it keeps the longest. */
function people(questions: Question[]): { name: string; figures: Figures }[] {
  const all = new Map<string, Figures>();
  for (const q of questions)
    for (const p of q.people) {
      const was = all.get(p.person);
      all.set(
        p.person,
        was
          ? {
              open: was.open + p.open,
              decided: was.decided + p.decided,
              expired: was.expired + p.expired,
              openSince: longer(was.openSince, p.openSince, "longest"),
              wait: longer(was.wait, p.wait, "median"),
            }
          : p,
      );
    }
  return [...all]
    .map(([name, figures]) => ({ name, figures }))
    .sort((a, b) => b.figures.open - a.figures.open || b.figures.decided - a.figures.decided);
}

/** seconds reads a length as the API writes it. */
const seconds = (text: string | undefined) => {
  const m = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?/.exec(text ?? "");
  return m ? Number(m[1] ?? 0) * 3600 + Number(m[2] ?? 0) * 60 + Number(m[3] ?? 0) : 0;
};

type Spread = Person["wait"];

const longer = (a: Spread, b: Spread, by: "longest" | "median"): Spread =>
  seconds(a?.[by]) >= seconds(b?.[by]) ? a : b;

/** inbox is where the inbox lists some questions. */
const inbox = (query: Record<string, string>) => `/?${new URLSearchParams(query)}`;

/** Counted leads to what a figure counts, where there is such a list. */
const Counted = ({ href, children }: { href: string; children: ReactNode }) =>
  href ? <Link href={href}>{children}</Link> : <>{children}</>;

type RowsProps = {
  name: "Question" | "Person";
  rows: { name: string; figures: Figures }[];
  more: boolean | undefined;
};

function Rows({ name, rows, more }: RowsProps) {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, first);
  const narrows = name === "Question" ? "question" : "assigned";
  const decided = (of: string) =>
    name === "Question"
      ? inbox({ show: "decided", question: of })
      : `/proof?${new URLSearchParams({ show: "audit", by: of, days: "30", kind: "decision" })}`;
  return (
    <>
      <Table
        label={name === "Question" ? "waits by question" : "waits by person"}
        columns={[
          { name, grow: true },
          { name: "Open", end: true },
          { name: "Longest", end: true },
          { name: "Decided", end: true },
          { name: name === "Question" ? "Median wait" : "Typical wait", end: true },
          { name: "Expired", end: true },
        ]}
        rows={shown.map(({ name: of, figures: f }) => ({
          key: of,
          cells: [
            of ? <Said key="name">{of}</Said> : <span className={css.zero}>anyone with the role</span>,
            f.open ? (
              <Counted key="open" href={of && inbox({ show: "open", [narrows]: of })}>
                {figure(f.open, more)}
              </Counted>
            ) : (
              <Zero key="none" />
            ),
            f.openSince ? span(f.openSince.longest) : "",
            f.decided ? (
              <Counted key="decided" href={of && decided(of)}>
                {figure(f.decided, more)}
              </Counted>
            ) : (
              <Zero key="none" />
            ),
            f.wait ? span(f.wait.median) : "",
            f.expired ? (
              <Counted key="expired" href={of && inbox({ show: "decided", state: "expired", [narrows]: of })}>
                {figure(f.expired, more)}
              </Counted>
            ) : (
              <Zero key="none" />
            ),
          ],
        }))}
      />
      {rows.length > shown.length && (
        <p className={css.more}>
          <Button onClick={() => setAll(true)}>Show all {rows.length}</Button>
        </p>
      )}
    </>
  );
}
