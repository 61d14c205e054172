import { useEffect } from "react";
import { Bar } from "./bar";
import { Missing } from "./missing";

/** NoPage says that an address has nothing. Its last part may name something, so a search begins with it. */
export function NoPage() {
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
