import { useEffect } from "react";
import { Route, Switch, useLocation } from "wouter";
import { Problem } from "./api/client";
import { useMe } from "./data/me";
import { login, queries } from "./data/query";
import { Boundary } from "./parts/boundary";
import { Failure } from "./parts/notice";
import { screens } from "./screens";
import { Bar } from "./shell/bar";
import { Missing } from "./shell/missing";
import { Shell } from "./shell/shell";

/** App is the shell and one screen, by the address. Who is not logged in is led to the login page. */
export function App() {
  const me = useMe();
  const [at] = useLocation();
  const out = me.error instanceof Problem && me.error.code === "unauthenticated";
  useEffect(() => {
    if (out && !me.data) login();
  }, [out, me.data]);
  const name = me.data?.name;
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ["live"] }); // what another person may do is another thing
  }, [name]);
  if (!me.data) return me.error && !out ? <Failure error={me.error} /> : null;
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

/** NoPage says that an address has nothing. Its last part may name something, so a search begins with it. */
function NoPage() {
  const at = location.pathname;
  useEffect(() => {
    document.title = "No such page · Posthouse";
  }, []);
  return (
    <>
      <Bar title="No such page" />
      <Missing
        what="page"
        name={at}
        search={at.split("/").findLast((part) => part !== "") ?? ""}
        ways={[
          { name: "Inbox", href: "/" },
          { name: "Threads", href: "/threads" },
        ]}
      >
        The address may be cut, or of another version.
      </Missing>
    </>
  );
}
