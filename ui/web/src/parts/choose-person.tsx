import { TriangleAlert } from "lucide-react";
import { useDeferredValue, useEffect, useId, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { usePeople, usePerson, type Known } from "../data/people";
import { bars, fault, offered, says } from "./person";
import { Said } from "./said";
import css from "./choose-person.module.css";

const most = 50;

type Props = {
  /** label is what the field is for, where nothing else says it. */
  label?: string;
  placeholder?: string;
  gate?: string;
  value: string;
  set: (name: string) => void;
  /** judge is set to what says why the name cannot be sent, nothing if it can. */
  judge: RefObject<(() => string) | undefined>;
  /** risk says what happens if there is no such person. */
  risk: string;
  up?: boolean;
  focus?: boolean;
};

/**
 * ChoosePerson is a field for the name of somebody who shall decide. It offers the names that are known,
 * and takes another one only after a second confirmation that names the risk.
 */
export function ChoosePerson({ label, placeholder, gate, value, set, judge, risk, up, focus }: Props) {
  const id = useId();
  const people = usePeople(gate);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [sure, setSure] = useState("");
  const [asks, setAsks] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const name = value.trim();
  const all = people.data?.items ?? [];
  const listed = all.find((p) => p.name === name);
  const late = useDeferredValue(name);
  const one = usePerson(people.isFetched && !listed ? late : "", gate);
  const known = listed ?? (late === name ? one.data : undefined);
  const looking = !known && (people.isPending || (late !== name ? name !== "" : one.isFetching));
  const { shown, more } = offered(all, value, most);
  const showing = open && shown.length > 0;
  useEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  judge.current = () => {
    const found = fault(name, known, looking, sure);
    setAsks(found.ask ?? false);
    setOpen(false);
    return found.says;
  };
  const choose = (p: Known) => {
    if (bars(p)) return;
    set(p.name);
    setAsks(false);
    setOpen(false);
    setAt(-1);
  };
  const press = (e: KeyboardEvent) => {
    const chosen = shown[at];
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      setOpen(true);
      const step = e.key === "ArrowDown" ? 1 : -1;
      setAt(showing ? (at + step + shown.length) % shown.length : step > 0 ? 0 : shown.length - 1);
    } else if (e.key === "Enter" && !e.shiftKey && showing && chosen) choose(chosen);
    else if (e.key === "Escape" && showing) setOpen(false);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div className={css.field}>
      <input
        ref={field}
        role="combobox"
        aria-label={label}
        aria-expanded={showing}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={showing && at >= 0 ? `${id}-${at}` : undefined}
        placeholder={placeholder}
        maxLength={200}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={value}
        onChange={(e) => {
          set(e.target.value);
          setOpen(true);
          setAt(-1);
        }}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={press}
      />
      <ul
        id={`${id}-list`}
        role="listbox"
        aria-label="names that are known"
        className={up ? `${css.list} ${css.up}` : css.list}
        hidden={!showing}
        tabIndex={-1}
        onMouseDown={(e) => e.preventDefault()}
      >
        {showing &&
          shown.map((p, i) => (
            <li
              key={p.name}
              id={`${id}-${i}`}
              role="option"
              aria-selected={i === at}
              aria-disabled={bars(p) !== "" || undefined}
              className={i === at ? css.at : undefined}
              ref={i === at ? (el) => el?.scrollIntoView({ block: "nearest" }) : undefined}
              onClick={() => choose(p)}
            >
              <b>
                <Said>{p.name}</Said>
              </b>
              <span>
                <Said>{says(p)}</Said>
              </span>
            </li>
          ))}
        {more > 0 && (
          <li role="presentation" className={css.more}>
            and {more} more: type some of the name
          </li>
        )}
      </ul>
      {asks && !looking && (
        <label className={css.ask}>
          <TriangleAlert size={14} strokeWidth={1.5} aria-hidden />
          <input type="checkbox" checked={sure === name} onChange={(e) => setSure(e.target.checked ? name : "")} />
          <span>
            I mean <Said>{name}</Said>, who is not known here. {risk}
          </span>
        </label>
      )}
    </div>
  );
}
