import { Id } from "../parts/id";

/** Trace names the trace that a run belongs to, and leads to it if the server knows where traces are looked at. */
export const Trace = ({ id, at }: { id: string; at: string | undefined }) => (
  <>
    <Id whole>{id}</Id>{" "}
    {at && /^https?:/.test(at) && (
      <a href={at} target="_blank" rel="noopener noreferrer">
        open the trace
      </a>
    )}
  </>
);
