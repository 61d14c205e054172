// What opens the palette from within a screen.

let opens: ((text: string) => void) | undefined;

/** onPalette says what opens the palette, until the function that it returns is called. */
export function onPalette(open: (text: string) => void): () => void {
  opens = open;
  return () => {
    if (opens === open) opens = undefined;
  };
}

/** openPalette opens the palette with a text in its field. */
export const openPalette = (text = "") => opens?.(text);
