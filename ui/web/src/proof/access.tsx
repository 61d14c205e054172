import { Link } from "wouter";
import { useTokens } from "../data/proof";
import { Chip } from "../parts/chip";
import { Empty, Failure, Skeleton } from "../parts/notice";
import { Part } from "../parts/page";
import { Said } from "../parts/said";
import { Table } from "../parts/table";
import { Ago, At, exact } from "../parts/time";
import css from "./proof.module.css";

/** Access lists who may come: tokens, when each was used, and the browsers that are logged in. */
export function Access({ may }: { may: boolean }) {
  const tokens = useTokens(may);
  if (!may) return <Empty title="For operators">Only an operator sees who has access.</Empty>;
  if (tokens.error) return <Failure error={tokens.error} />;
  if (!tokens.data) return <Skeleton rows={6} height={36} />;
  return (
    <Part
      title="Tokens and logins"
      says="what is done with a token is recorded under its name"
      end={<Link href="/settings?show=tokens">make or revoke tokens</Link>}
    >
      <Table
        label="tokens"
        columns={[
          { name: "Name" },
          { name: "Role" },
          { name: "State" },
          { name: "Made" },
          { name: "Ends", grow: true },
          { name: "Browsers", end: true },
          { name: "Last used", end: true },
        ]}
        rows={tokens.data.map((t) => ({
          key: t.name,
          cells: [
            <Link key="name" href={`/proof?${new URLSearchParams({ show: "audit", by: t.name, days: "30" })}`}>
              <Said>{t.name}</Said>
            </Link>,
            t.you ? `${t.role}, you` : t.role,
            <Chip key="state" state={t.expired ? "expired" : "good"} />,
            <At key="made" at={t.createdAt} />,
            t.expiresAt ? exact(t.expiresAt) : "never",
            t.logins ?? 0,
            t.lastUsedAt ? <Ago at={t.lastUsedAt} /> : <span className={css.faint}>not known</span>,
          ],
        }))}
      />
    </Part>
  );
}
