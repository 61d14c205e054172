// Where the nodes of a graph stand, by dagre: from above to below, subgraphs as boxes around theirs.

import { Graph, layout } from "@dagrejs/dagre";

export type OutlineNode = { id: string; name: string; kind: string };
export type OutlineEdge = { from: string; to: string; kind?: string };
export type Outline = { nodes: OutlineNode[]; edges: OutlineEdge[] };

/** Counted is how many threads are at a node. One may be in two states there, so by may be more. */
export type Counted = { threads: number; by: readonly { status: string; count: number }[] };

export type Placed = { node: OutlineNode; x: number; y: number; width: number; height: number };
export type Way = {
  id: string;
  from: string;
  to: string;
  kind: string;
  /** says what decides whether this way is gone. */
  says: string;
  points: { x: number; y: number }[];
};

/** saysOf tells what decides whether a way is gone, by its kind and the node that it comes from. */
export function saysOf(kind: string | undefined, from: string): string {
  switch (kind) {
    case "command":
      return `${from.length > 16 ? "the node" : from} decides`;
    case "route":
    case "routes":
      return "by the state";
    case "map":
      return "one for each";
    case "join":
      return "once all are done";
    case "error":
      return "if it fails";
    default:
      return kind ?? "";
  }
}

const widest = 220;

/** Counts have room for three of two digits, whether there are any or not: nodes do not move when threads do. */
const roomOfCounts = 96;

/** sizeOf guesses the room that a node's name takes, beside an icon or its counts; longer ones are cut. */
function sizeOf(n: OutlineNode, counted: boolean): { width: number; height: number } {
  if (n.kind === "start" || n.kind === "end" || n.kind === "anywhere") return { width: 20, height: 20 };
  const name = Array.from(n.name).length * 7.2;
  const width = counted ? Math.max(120, 40 + name + roomOfCounts) : Math.max(96, 80 + name);
  return { width: Math.min(counted ? widest + roomOfCounts : widest, width), height: 36 };
}

/** place returns where nodes and ways are. Of a subgraph the width and height are those of its box. */
export function place(
  graph: Outline,
  counted = false,
): { nodes: Placed[]; ways: Way[]; width: number; height: number } {
  const g = new Graph({ compound: true, multigraph: true });
  g.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 30, marginx: 16, marginy: 16 });
  for (const n of graph.nodes) g.setNode(n.id, n.kind === "subgraph" ? {} : sizeOf(n, counted));
  for (const n of graph.nodes) {
    const inside = n.id.slice(0, Math.max(0, n.id.lastIndexOf("/")));
    if (inside) g.setParent(n.id, inside);
  }
  const names = new Map(graph.nodes.map((n) => [n.id, n.name]));
  const says = (e: OutlineEdge) => saysOf(e.kind, names.get(e.from) ?? e.from);
  graph.edges.forEach((e, i) => {
    const room = e.kind ? { width: says(e).length * 6 + 8, height: 16, labelpos: "c" } : {};
    g.setEdge(e.from, e.to, { ...room }, String(i));
  });
  layout(g);
  const nodes = graph.nodes.map((node) => {
    const at = g.node(node.id) as { x: number; y: number; width: number; height: number };
    return { node, x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height };
  });
  const ways = graph.edges.map((e, i) => ({
    id: String(i),
    from: e.from,
    to: e.to,
    kind: e.kind ?? "",
    says: says(e),
    points: (g.edge({ v: e.from, w: e.to, name: String(i) }) as { points?: { x: number; y: number }[] }).points ?? [],
  }));
  const size = g.graph() as { width?: number; height?: number };
  return { nodes, ways, width: size.width ?? 0, height: size.height ?? 0 };
}

/** pathOf draws a line through points, rounded between them. */
export function pathOf(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest.pop();
  if (!first || !last) return "";
  let path = `M${first.x},${first.y}`;
  rest.forEach((p, i) => {
    const next = rest[i + 1] ?? last;
    const to = i === rest.length - 1 ? last : { x: (p.x + next.x) / 2, y: (p.y + next.y) / 2 };
    path += `Q${p.x},${p.y} ${to.x},${to.y}`;
  });
  return rest.length === 0 ? `${path}L${last.x},${last.y}` : path;
}
