import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, get } from "../api/client";
import { Empty } from "../parts/notice";
import { Said } from "../parts/said";
import { addressOf, isNarrow, type Filter } from "./filter";
import css from "./screen.module.css";

/** Nothing says that no thread fits, or that there is none yet, and leads on from there. */
export const Nothing = ({ filter }: { filter: Filter }) =>
  isNarrow(filter) ? (
    <>
      <Empty title="No thread fits">
        Search finds the beginning of a name or of a label's value, and names by their last four characters or more.
      </Empty>
      <p className={css.instead}>
        {filter.q && !filter.program && <OfProgram filter={filter} name={filter.q} />}
        <Link href="/threads">Show all threads</Link>
      </p>
    </>
  ) : (
    <Empty title="There are no threads yet" command="posthouse run start PROGRAM INPUT">
      A thread is one run of a program: all that it did stays on record, step by step. It is here as soon as it begins.
    </Empty>
  );

/** OfProgram offers the threads of the program that somebody searched for, where it has some. */
function OfProgram({ filter: { q: _, ...rest }, name }: { filter: Filter; name: string }) {
  const found = useQuery({
    queryKey: ["of program", name],
    queryFn: ({ signal }) =>
      get(api.GET("/api/threads", { signal, params: { query: { graph: name, limit: 1, fields: "thread" } } })),
  });
  return found.data?.items.length ? (
    <Link href={addressOf({ ...rest, program: name })}>
      Program is <Said>{name}</Said>
    </Link>
  ) : null;
}
