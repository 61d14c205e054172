import { useSearch } from "wouter";
import { useMe } from "../data/me";
import { Scroll } from "../parts/page";
import { Tabs } from "../parts/tabs";
import { Bar } from "../shell/bar";
import { Mine } from "./mine";
import { Tokens } from "./tokens";
import { Webhooks } from "./webhooks";

const places = [
  { name: "Mine", show: "" },
  { name: "Webhooks", show: "webhooks", operator: true },
  { name: "Tokens", show: "tokens", operator: true },
];

/** SettingsScreen has what a person chooses, and what an operator sets up. */
export function SettingsScreen() {
  const asked = new URLSearchParams(useSearch()).get("show") ?? "";
  const me = useMe().data;
  const operator = me?.role === "operator";
  const shown = places.filter((p) => operator || !p.operator);
  const show = shown.find((p) => p.show === asked)?.show ?? "";
  return (
    <>
      <Bar title="Settings">
        <Tabs
          label="settings"
          tabs={shown.map((p) => ({
            name: p.name,
            href: p.show ? `/settings?show=${p.show}` : "/settings",
            on: p.show === show,
          }))}
        />
      </Bar>
      <Scroll>
        {show === "" && me && <Mine me={me} />}
        {show === "webhooks" && <Webhooks />}
        {show === "tokens" && <Tokens />}
      </Scroll>
    </>
  );
}
