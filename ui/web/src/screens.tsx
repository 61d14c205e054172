// The screens by their addresses. Each is loaded when it is first looked at; those with an icon stand
// in the navigation.

import { Inbox, Split, Workflow, type LucideIcon } from "lucide-react";
import { ChartNoAxesColumn, Server, ShieldCheck } from "lucide-react";
import type { ComponentType, FunctionComponent } from "react";
import { readAhead } from "./data/head";
import { later as part } from "./parts/later";
import { Skeleton } from "./parts/notice";
import { threadOf, whereOf } from "./thread/address";

export type Params = Record<string, string>;

export type Screen = {
  path: string;
  screen: ComponentType<{ params: Params }> & { begin: () => Promise<void> };
  /** name, icon and also are of the navigation. also says which other addresses belong to the entry. */
  name?: string;
  icon?: LucideIcon;
  also?: string;
  /** read begins to read what the screen shows first, by its address. */
  read?: (path: string, search: string) => void;
};

/** later loads a screen when it is first looked at. */
const later = (load: () => Promise<FunctionComponent<{ params: Params }>>) =>
  part(load, <Skeleton rows={8} height={48} />);

export const screens: Screen[] = [
  {
    path: "/",
    name: "Inbox",
    icon: Inbox,
    also: "/gates/",
    screen: later(async () => (await import("./inbox/screen")).InboxScreen),
  },
  {
    path: "/gates/:id",
    screen: later(async () => {
      const { GateScreen } = await import("./gate/screen");
      return ({ params }) => <GateScreen id={params.id ?? ""} />;
    }),
  },
  {
    path: "/threads",
    name: "Threads",
    icon: Split,
    screen: later(async () => (await import("./threads/screen")).ThreadsScreen),
  },
  {
    path: "/file",
    screen: later(async () => (await import("./thread/file")).FileScreen),
  },
  {
    path: "/threads/:id",
    screen: later(async () => (await import("./thread/open")).ThreadScreen),
    read: (path, search) => {
      if (!whereOf(search).version) readAhead(threadOf(path, search));
    },
  },
  {
    path: "/programs",
    name: "Programs",
    icon: Workflow,
    screen: later(async () => (await import("./programs/list")).ProgramsScreen),
  },
  {
    path: "/programs/:program",
    screen: later(async () => (await import("./programs/screen")).ProgramScreen),
  },
  {
    path: "/workers",
    name: "Workers and tasks",
    icon: Server,
    screen: later(async () => (await import("./workers/screen")).WorkersScreen),
  },
  {
    path: "/proof",
    name: "Proof",
    icon: ShieldCheck,
    screen: later(async () => (await import("./proof/screen")).ProofScreen),
  },
  {
    path: "/overview",
    name: "Overview",
    icon: ChartNoAxesColumn,
    screen: later(async () => (await import("./overview/screen")).OverviewScreen),
  },
  {
    path: "/settings",
    name: "Settings",
    screen: later(async () => (await import("./settings/screen")).SettingsScreen),
  },
];

/** loadAhead begins to load the screen of an address and what it shows, so that they come while the person is looked up. */
export function loadAhead({ pathname, search }: Location) {
  const here = screens.find(({ path }) => RegExp(`^${path.replace(/:\w+/, "[^/]+")}$`).test(pathname));
  here?.read?.(pathname, search);
  here?.screen.begin().catch(() => {}); // it is tried again where it is shown
}
