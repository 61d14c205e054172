import type { Plan } from "./plan";

const reasons: Partial<Record<Plan["status"], string>> = {
  "": "it is a state that was saved by hand: nothing runs it",
  waiting: "it waits for its question as soon as it is made",
  done: "it begins where the run had ended",
  failed: "it begins with the failure: resume it",
  cancelled: "it begins where the run was cancelled",
};

/** whyNot says why a fork cannot run at once. It is empty where it can. */
export function whyNot(plan: Pick<Plan, "status" | "next"> | undefined, refused: boolean): string {
  if (refused) return "it would be refused as it is";
  if (!plan) return "looking what would run";
  if (plan.status === "interrupted") return plan.next.length > 0 ? "" : "nothing runs next here";
  return reasons[plan.status] ?? "it runs as soon as it is made";
}
