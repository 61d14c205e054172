import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, get, type Schemas } from "../api/client";
import type { Checkpoint } from "../data/checkpoints";

export type Plan = Schemas["ForkPlan"];
export type Body = Schemas["ForkBody"];

/** usePlan asks what a fork would do. It writes nothing. */
export const usePlan = (id: string, body: Body) =>
  useQuery({
    queryKey: ["live", "plan", id, JSON.stringify(body)],
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: async ({ signal }) => {
      const found = await get(
        api.POST("/api/checkpoints/{id}/fork", {
          signal,
          params: { path: { id } },
          body: { ...body, dryRun: true },
        }),
      );
      return (found as Checkpoint).plan as Plan;
    },
  });

export type Resumes = Schemas["ResumePlan"];
export type Act = Schemas["ResumeAct"];

/** useResumes asks what going on from the head of a branch would run and do. It runs nothing. */
export const useResumes = (head: string | undefined) =>
  useQuery({
    queryKey: ["live", "resumes", head],
    enabled: head !== undefined,
    retry: false,
    queryFn: async ({ signal }) => {
      const found = await get(
        api.POST("/api/checkpoints/{id}/resume", {
          signal,
          params: { path: { id: head ?? "" }, query: { dryRun: true } },
        }),
      );
      return (found as Checkpoint).resumes as Resumes;
    },
  });
