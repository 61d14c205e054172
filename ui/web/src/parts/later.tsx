import { createElement, useEffect, useState, type FunctionComponent, type ReactNode } from "react";

/**
 * later returns a part that is loaded when it is first shown, or when its begin is called before that.
 * Until it is loaded, meanwhile stands in its place.
 * React.lazy would do the same, but a Suspense that showed its fallback shows nothing else for 300 ms.
 */
export function later<P extends object>(load: () => Promise<FunctionComponent<P>>, meanwhile: ReactNode = null) {
  let loaded: FunctionComponent<P> | undefined;
  let begun: Promise<void> | undefined;
  const begin = () =>
    (begun ??= load().then(
      (is) => {
        loaded = is;
      },
      (error: unknown) => {
        begun = undefined; // the next to show it tries again
        throw error;
      },
    ));
  function Later(props: P) {
    const [part, setPart] = useState<{ is?: FunctionComponent<P>; error?: unknown }>({ is: loaded });
    useEffect(() => {
      if (loaded) return;
      let gone = false;
      begin().then(
        () => gone || setPart({ is: loaded }),
        (error: unknown) => gone || setPart({ error }),
      );
      return () => {
        gone = true;
      };
    }, []);
    if (part.error !== undefined) throw part.error;
    return part.is ? createElement(part.is, props) : meanwhile;
  }
  return Object.assign(Later, { begin });
}
