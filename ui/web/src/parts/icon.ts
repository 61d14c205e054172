// What lucide-react makes its icons with, in a tenth of the size: vite.config.ts puts this in its place. Ours
// have a size and a width of stroke. Those without a label are hidden from screen readers.

import { createElement, type SVGProps } from "react";

type Shape = readonly [tag: string, attributes: Record<string, string>];

type Props = Omit<SVGProps<SVGSVGElement>, "ref"> & { size?: number };

/** createIcon returns a component that draws an icon of lucide's 24 by 24 grid. */
export default function createIcon({ node }: { node: readonly Shape[] }) {
  return ({ size = 24, ...rest }: Props) =>
    createElement(
      "svg",
      {
        width: size,
        height: size,
        viewBox: "0 0 24 24",
        fill: "none",
        stroke: "currentColor",
        strokeWidth: 2,
        strokeLinecap: "round",
        strokeLinejoin: "round",
        "aria-hidden": !rest["aria-label"],
        ...rest,
      },
      node.map(([tag, attributes]) => createElement(tag, attributes)),
    );
}
