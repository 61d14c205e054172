import { useEffect, useRef, type ReactNode } from "react";
import css from "./dialog.module.css";

type Props = { open: boolean; close: () => void; title: string; children: ReactNode; top?: boolean; hold?: boolean };

/** Dialog is the browser's own: Esc and a click beside it close it unless hold is set, and focus stays inside. */
export function Dialog({ open, close, title, children, top, hold }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = ref.current;
    if (d && open && !d.open) {
      d.showModal();
      d.scrollTop = 0; // the focus may be on a link at its end
    }
    if (!open && d?.open) d.close();
  }, [open]);
  return (
    <dialog
      ref={ref}
      aria-label={title}
      className={top ? `${css.dialog} ${css.top}` : css.dialog}
      onClose={close}
      onCancel={(e) => hold && e.preventDefault()}
      onClick={(e) => e.target === ref.current && !hold && close()}
    >
      {open && children}
    </dialog>
  );
}
