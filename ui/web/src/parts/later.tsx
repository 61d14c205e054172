import { createElement, lazy, Suspense, type FunctionComponent, type ReactNode } from "react";

/** later returns a part that is loaded when it is first shown. Until then meanwhile stands in its place. */
export function later<P extends object>(load: () => Promise<FunctionComponent<P>>, meanwhile: ReactNode = null) {
  const Loaded = lazy(async () => ({ default: await load() }));
  return function Later(props: P) {
    return <Suspense fallback={meanwhile}>{createElement(Loaded, props as never)}</Suspense>;
  };
}
