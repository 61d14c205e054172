import { useId, useState, type ReactNode } from "react";
import { Button } from "./button";
import css from "./menu.module.css";

type Props = { name: string; icon?: ReactNode; label?: string; children: (close: () => void) => ReactNode };

/** Menu is a button that opens a small panel below it. Esc and a click elsewhere close it. */
export function Menu({ name, icon, label, children }: Props) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const close = () => document.getElementById(id)?.hidePopover();
  return (
    <>
      <Button icon={icon} popoverTarget={id} aria-label={label} title={label} className={css.button}>
        {name}
      </Button>
      <div
        id={id}
        popover="auto"
        className={css.panel}
        role="group"
        aria-label={label ?? name}
        onBeforeToggle={(e) => setOpen(e.newState === "open")}
      >
        {open && children(close)}
      </div>
    </>
  );
}
