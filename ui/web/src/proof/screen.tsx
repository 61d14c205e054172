import { useSearch } from "wouter";
import { useMe } from "../data/me";
import { Scroll } from "../parts/page";
import { Tabs } from "../parts/tabs";
import { Bar } from "../shell/bar";
import { Access } from "./access";
import { Audit } from "./audit";
import { Keys } from "./keys";
import { Verify } from "./verify";

const places = [
  { name: "Verification", show: "" },
  { name: "Keys and witness", show: "keys" },
  { name: "Who did what", show: "audit", operator: true },
  { name: "Access", show: "access", operator: true },
];

/** ProofScreen shows whether the record is genuine, who signed it, and who did what. */
export function ProofScreen() {
  const show = new URLSearchParams(useSearch()).get("show") ?? "";
  const me = useMe().data;
  const operator = me?.role === "operator";
  const shown = places.filter((p) => operator || !p.operator);
  return (
    <>
      <Bar title="Proof">
        <Tabs
          label="proof"
          tabs={shown.map((p) => ({
            name: p.name,
            href: p.show ? `/proof?show=${p.show}` : "/proof",
            on: p.show === show,
          }))}
        />
      </Bar>
      <Scroll>
        {show === "keys" && <Keys may={operator} />}
        {show === "audit" && <Audit may={operator} />}
        {show === "access" && <Access may={operator} />}
        {!["keys", "audit", "access"].includes(show) && <Verify may={operator} />}
      </Scroll>
    </>
  );
}
