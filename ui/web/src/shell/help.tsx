import { Dialog } from "../parts/dialog";
import { keysOff } from "./keys";
import css from "./help.module.css";

const keys: [string, string, string][] = [
  ["Everywhere", "Ctrl K", "go to a thread, a program, an id or a command"],
  ["Everywhere", "?", "this list"],
  ["Inbox", "j  k", "the next question, the one before"],
  ["Inbox", "/", "search"],
  ["Inbox", "Enter", "open the question on a page of its own"],
  ["Threads", "j  k", "the next thread, the one before"],
  ["Threads", "x", "choose the thread, or leave it out"],
  ["Threads", "Enter", "open the thread"],
  ["Threads", "/", "search"],
  ["A question", "a", "approve: opens a line to confirm"],
  ["A question", "r", "reject"],
  ["A question", "e", "edit"],
  ["A question", "p", "respond"],
  ["A question", "d", "delegate"],
  ["A question", "t", "take back what you delegated"],
  ["A question", "h", "hide it from your inbox for a while"],
  ["A thread", "←  →", "the checkpoint before, the one after; j and k do the same"],
  ["A thread", "Shift ←  →", "the question or effect before, the one after"],
  ["A thread", "Shift ←  →", "on the line above the rows: only the rows of a part of it; Esc shows all"],
  ["A thread", "[  ]", "the branch before, the next one"],
  ["A thread", "t", "the line in the order of checkpoints, or by time"],
  ["A thread", "o", "steps and attempts of the checkpoint"],
  ["A thread", "c", "compare with the checkpoint"],
  ["A thread", "f", "draft a fork at the checkpoint"],
  ["Confirm", "Shift Enter", "send the decision"],
  ["Confirm", "Esc", "back, nothing is sent"],
];

/** HelpDialog lists the keys. */
export const HelpDialog = ({ open, close }: { open: boolean; close: () => void }) => (
  <Dialog open={open} close={close} title="Keys">
    <div className={css.keys}>
      <h2>Keys</h2>
      {keysOff() && <p>Single keys are off, as the settings say: of these only those with Ctrl, Shift and Esc work.</p>}
      <table>
        <tbody>
          {keys.map(([where, key, does], i) => (
            <tr key={key + does}>
              <th scope="row">{keys[i - 1]?.[0] === where ? "" : where}</th>
              <td>
                <kbd>{key}</kbd>
              </td>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>No single key decides: each opens a line where the decision is confirmed. A decision cannot be undone.</p>
      <p className={css.more}>
        <a href="/docs">Documentation</a> <a href="/docs/approvals">Asking people</a>{" "}
        <a href="/docs/api">API console</a>
      </p>
    </div>
  </Dialog>
);
