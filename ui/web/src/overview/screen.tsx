import { Ban, CircleHelp, Clock, Pause, Play, X, type LucideIcon } from "lucide-react";
import { Link } from "wouter";
import { useOpen, useStatus, useWaits } from "../data/overview";
import { useMe, useVersion } from "../data/me";
import { useThreadCount } from "../data/proof";
import { Failure, Skeleton } from "../parts/notice";
import { Scroll } from "../parts/page";
import { Said } from "../parts/said";
import { Bar } from "../shell/bar";
import { Failing } from "./failing";
import { FirstSteps } from "./first";
import { Processes } from "./processes";
import { Questions } from "./questions";
import { Activity, Store } from "./store";
import css from "./overview.module.css";

type Tile = { name: string; n: number; href: string; icon: LucideIcon; tone: string };

/** OverviewScreen shows what goes on, in figures that each lead to what they count. */
export function OverviewScreen() {
  const operator = useMe().data?.role === "operator";
  const threads = useThreadCount();
  const status = useStatus();
  const waits = useWaits(operator);
  const open = useOpen();
  const version = useVersion();
  const counts = threads.data?.counts ?? {};
  const of = (s: string) => Number(counts[s] ?? 0);
  const all = threads.data?.all ?? 0;
  const unknown = status.data?.unknownEffects ?? 0;
  const tiles: Tile[] = [
    { name: "waiting", n: of("waiting"), href: "/threads?status=waiting", icon: Clock, tone: "waiting" },
    { name: "running", n: of("running"), href: "/threads?status=running", icon: Play, tone: "running" },
    { name: "failed", n: of("failed"), href: "/threads?status=failed", icon: X, tone: "failed" },
    { name: "unknown effects", n: unknown, href: "/threads?unknown=yes", icon: CircleHelp, tone: "failed" },
    { name: "interrupted", n: of("interrupted"), href: "/threads?status=interrupted", icon: Pause, tone: "grey" },
    { name: "cancelled", n: of("cancelled"), href: "/threads?status=cancelled", icon: Ban, tone: "grey" },
  ];
  return (
    <>
      <Bar
        title="Overview"
        end={
          version.data && (
            <span className={css.version} title={version.data.revision}>
              <Said>{`${version.data.name} ${version.data.version}`}</Said>
            </span>
          )
        }
      />
      <Scroll>
        {(threads.error || status.error) && <Failure error={threads.error ?? status.error} />}
        {!threads.data && !threads.error && <Skeleton rows={4} height={64} />}
        {threads.data && all === 0 && <FirstSteps />}
        {threads.data && all > 0 && (
          <nav className={css.tiles} aria-label="threads by status">
            {tiles.map((t) => (
              <Link key={t.name} href={t.href} className={css.tile}>
                <span className={t.n ? css[t.tone] : css.grey}>
                  <t.icon size={14} strokeWidth={1.75} aria-hidden />
                  {t.name}
                </span>
                <b>
                  {t.n.toLocaleString("en")}
                  {t.n >= 1000 && "+"}
                </b>
              </Link>
            ))}
          </nav>
        )}
        <Failing may={operator} />
        <div className={css.columns}>
          <div>
            <Questions
              may={operator}
              waits={waits.data}
              open={open.data?.counts}
              more={open.data?.more}
              error={waits.error ?? open.error}
            />
          </div>
          <div>
            <Activity status={status.data} waits={waits.data} />
          </div>
          <div>
            <Store status={status.data} />
            <Processes may={operator} />
          </div>
        </div>
      </Scroll>
    </>
  );
}
