import { X } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import type { Schemas } from "../api/client";
import { Button } from "../parts/button";
import { Said } from "../parts/said";
import { nameOf } from "./tell";
import css from "./screen.module.css";

type Props = { row: Schemas["Row"] | undefined; sheet: boolean; close: () => void; children: ReactNode };

/**
 * Sheet holds the inspector: beside the rows, or over them where there is little room. There it has the focus
 * while it is open, and gives it back.
 */
export function Sheet({ row, sheet, close, children }: Props) {
  const aside = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!sheet) return;
    const before = document.activeElement;
    aside.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before !== document.body)
        setTimeout(() => before.isConnected && before.focus({ preventScroll: true }));
    };
  }, [sheet]);
  return (
    <aside ref={aside} tabIndex={sheet ? -1 : undefined} className={css.inspector} aria-label="checkpoint">
      {sheet && (
        <p className={css.sheet}>
          <span>
            {row && (
              <>
                #{row.seq} <Said>{nameOf(row)}</Said>
              </>
            )}
          </span>
          <Button aria-label="close" icon={<X size={16} strokeWidth={1.5} aria-hidden />} onClick={close} />
        </p>
      )}
      {children}
    </aside>
  );
}
