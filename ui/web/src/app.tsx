import { useEffect, useRef } from "react";
import { Route, Switch, useLocation } from "wouter";
import { Problem } from "./api/client";
import { useMe } from "./data/me";
import { arrive, gone, login, queries } from "./data/query";
import { Boundary } from "./parts/boundary";
import { later } from "./parts/later";
import { Failure } from "./parts/notice";
import { screens } from "./screens";
import { Frame, Shell } from "./shell/shell";

const NoPage = later(async () => (await import("./shell/no-page")).NoPage);

/** App is the shell and one screen, by the address. Who is not logged in is led to the login page. */
export function App() {
  const me = useMe();
  const [at] = useLocation();
  const out = me.error instanceof Problem && me.error.code === "unauthenticated";
  useEffect(() => {
    if (out && !me.data) login();
  }, [out, me.data]);
  useEffect(() => gone(out), [out]);
  const name = me.data?.name;
  const before = useRef(name);
  useEffect(() => {
    // What another person may do is another thing.
    if (before.current && before.current !== name) void queries.invalidateQueries({ queryKey: ["live"] });
    before.current = name;
    if (name) arrive();
  }, [name]);
  if (!me.data) return me.error && !out ? <Failure error={me.error} /> : <Frame />;
  return (
    <Shell me={me.data} out={out}>
      <Boundary at={at}>
        <Switch>
          {screens.map(({ path, screen: Screen }) => (
            <Route key={path} path={path}>
              {(params) => <Screen params={params as Record<string, string>} />}
            </Route>
          ))}
          <Route>
            <NoPage />
          </Route>
        </Switch>
      </Boundary>
    </Shell>
  );
}
