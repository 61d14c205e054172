import { Filter as FilterIcon, Search } from "lucide-react";
import { useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { usePrograms } from "../data/threads";
import { Button } from "../parts/button";
import { Menu } from "../parts/menu";
import { Said } from "../parts/said";
import { useTyped } from "../parts/typed";
import { useKeys } from "../shell/keys";
import { marked } from "../text/hidden";
import { names, type Filter } from "./filter";
import { searched, withIt, without, words } from "./searched";
import css from "./narrow.module.css";

const icon = { size: 16, strokeWidth: 1.5, "aria-hidden": true } as const;

type Props = { filter: Filter; questions: string[]; address: (f: Filter) => string };

/** Narrow searches the list, and says what else it is narrowed to. All of it stands in the address. */
export function Narrow({ filter, questions, address }: Props) {
  const shown = names.filter((n) => n !== "q" && filter[n]);
  return (
    <>
      <div className={css.bar}>
        <SearchField filter={filter} address={address} />
        <Menu name="" label="Filter" icon={<FilterIcon {...icon} />}>
          {(close) => <FilterMenu key={address(filter)} {...{ filter, questions, address, close }} />}
        </Menu>
      </div>
      {shown.length > 0 && (
        <nav className={css.tokens} aria-label="narrowed to">
          {shown.map((n) => (
            <Link key={n} href={address(without(filter, n))} replace className={css.token} title="leave it out">
              <span>
                {words[n]}{" "}
                <b>
                  <Said>{filter[n]}</Said>
                </b>
              </span>{" "}
              <span aria-hidden>×</span>
              <span className="visually-hidden">, leave it out</span>
            </Link>
          ))}
        </nav>
      )}
    </>
  );
}

function SearchField({ filter, address }: Omit<Props, "questions">) {
  const [, go] = useLocation();
  const shown = filter.q ?? "";
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  const typed = useTyped(shown, (text) => go(address(searched(filter, text, false)), { replace: true }), 250);
  const enter = () => {
    const found = searched(filter, typed.text, true);
    if (found.q) return typed.ask(typed.text);
    typed.clear();
    go(address(found), { replace: true });
  };
  return (
    <label className={css.search}>
      <Search {...icon} />
      <input
        ref={field}
        type="search"
        aria-label="search questions: a text in them, their values, labels or thread"
        placeholder="Text, value, thread"
        title="A text in the question, its values, its labels or its thread. Enter takes name=value as a label."
        value={typed.text}
        maxLength={200}
        onChange={(e) => typed.type(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") enter();
          if (e.key === "Enter" || e.key === "Escape") field.current?.blur();
        }}
      />
    </label>
  );
}

function FilterMenu({ filter, questions, address, close }: Props & { close: () => void }) {
  const [, go] = useLocation();
  const programs = usePrograms();
  const [draft, setDraft] = useState(filter);
  const set = (name: keyof Filter, text: string) => setDraft({ ...draft, [name]: text });
  const choice = (name: "question" | "program", title: string, known: string[]) => (
    <label>
      {title}
      <select value={draft[name] ?? ""} onChange={(e) => set(name, e.target.value)}>
        <option value="">all</option>
        {[...new Set([...known, ...(filter[name] ? [filter[name]] : [])])].map((k) => (
          <option key={k} value={k}>
            {marked(k)}
          </option>
        ))}
      </select>
    </label>
  );
  const field = (name: "thread" | "requester" | "label", title: string, example: string) => (
    <label>
      {title}
      <input
        value={draft[name] ?? ""}
        placeholder={example}
        maxLength={400}
        onChange={(e) => set(name, e.target.value)}
      />
    </label>
  );
  return (
    <form
      className={css.form}
      onSubmit={(e) => {
        e.preventDefault();
        const whole = names.reduce<Filter>((f, n) => withIt(f, n, draft[n] ?? ""), {});
        go(address(whole), { replace: true });
        close();
      }}
    >
      {choice("question", "Question", questions)}
      {choice(
        "program",
        "Program",
        (programs.data ?? []).map((p) => p.name),
      )}
      {field("thread", "Thread", "its whole name")}
      {field("requester", "Asked by", "a person, or me")}
      {field("label", "Label", "customer=C-450")}
      <Button type="submit">Narrow</Button>
    </form>
  );
}
