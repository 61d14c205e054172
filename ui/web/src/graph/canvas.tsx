import {
  Background,
  BaseEdge,
  Handle,
  Panel,
  Position,
  ReactFlow,
  useReactFlow,
  type EdgeProps,
  type NodeProps,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { Maximize2, Minus, Plus } from "lucide-react";
import { useMemo } from "react";
import { lookOf } from "../parts/chip";
import { marked } from "../text/hidden";
import { many } from "../text/count";
import { pathOf, place, type Counted, type Outline, type Placed, type Way } from "./layout";
import css from "./graph.module.css";

type Props = {
  name: string;
  graph: Outline;
  lit?: ReadonlyMap<string, string>;
  onNode?: (node: string) => void;
  counts?: ReadonlyMap<string, Counted>;
};

type NodeData = { placed: Placed; state?: string; count?: Counted; onNode?: (node: string) => void };

/** Canvas draws a graph with xyflow. It can be moved and made larger, and nothing in it can be changed. */
export function Canvas({ name, graph, lit, onNode, counts }: Props) {
  const counted = counts !== undefined;
  const placed = useMemo(() => place(graph, counted), [graph, counted]);
  const nodes = useMemo(
    () =>
      placed.nodes.map((p) => {
        return {
          id: p.node.id,
          type: p.node.kind,
          position: { x: p.x, y: p.y },
          width: p.width,
          height: p.height,
          zIndex: p.node.kind === "subgraph" ? -1 : 1,
          data: { placed: p, state: lit?.get(p.node.id), count: counts?.get(p.node.id), onNode } satisfies NodeData,
        };
      }),
    [placed, lit, counts, onNode],
  );
  const edges = useMemo(() => {
    const by = new Map(placed.nodes.map((p) => [p.node.id, p.node]));
    const was = (id: string) => by.get(id)?.kind === "start" || lit?.has(id);
    return placed.ways.map((w) => ({
      id: w.id,
      source: w.from,
      target: w.to,
      type: "way",
      data: { way: w, lit: !counted && lit !== undefined && was(w.from) && was(w.to) },
    }));
  }, [placed, lit, counted]);
  return (
    <div className={css.canvas} role="group" aria-label={`graph of ${marked(name)}`}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        proOptions={{ hideAttribution: true }}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.08 }}
        minZoom={0.1}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnDoubleClick={false}
        disableKeyboardA11y
        attributionPosition="bottom-left"
      >
        <Background gap={16} size={1} color="var(--line)" />
        <Zoom />
      </ReactFlow>
    </div>
  );
}

function Zoom() {
  const flow = useReactFlow();
  const icon = { size: 14, strokeWidth: 1.5, "aria-hidden": true } as const;
  return (
    <Panel position="top-right" className={css.zoom}>
      <button type="button" aria-label="smaller" onClick={() => void flow.zoomOut()}>
        <Minus {...icon} />
      </button>
      <button type="button" aria-label="larger" onClick={() => void flow.zoomIn()}>
        <Plus {...icon} />
      </button>
      <button
        type="button"
        aria-label="show all of it"
        onClick={() => void flow.fitView({ maxZoom: 1, padding: 0.08 })}
      >
        <Maximize2 {...icon} />
      </button>
    </Panel>
  );
}

const Ends = () => (
  <>
    <Handle type="target" position={Position.Top} className={css.handle} isConnectable={false} />
    <Handle type="source" position={Position.Bottom} className={css.handle} isConnectable={false} />
  </>
);

/** shownStates is how many states a node has room to count; the others are in its name for who cannot see it. */
const shownStates = 3;

/** Counts are how many threads are at a node, by state. */
const Counts = ({ of }: { of: Counted }) => (
  <span className={css.counts} aria-hidden>
    {of.by.slice(0, shownStates).map(({ status, count }) => {
      const { icon: Icon, tone } = lookOf(status);
      return (
        <span key={status} className={`${css.count} ${css[tone]}`}>
          <Icon size={12} strokeWidth={2} />
          {many(count)}
        </span>
      );
    })}
    {of.by.length > shownStates && "…"}
  </span>
);

function Node({ data }: NodeProps) {
  const { placed, state, count, onNode } = data as NodeData;
  const { node } = placed;
  const look = state ? lookOf(state) : undefined;
  const Icon = count ? undefined : look?.icon;
  const name = marked(node.name);
  const className = [css.node, css[node.kind], look && css.lit, look && css[look.tone], count && css.counted]
    .filter(Boolean)
    .join(" ");
  const said = [name, node.kind === "task" || node.kind === "remote" ? node.kind : "", count ? saidOf(count) : state]
    .filter(Boolean)
    .join(", ");
  const inside = (
    <>
      {Icon && <Icon size={14} strokeWidth={1.75} aria-hidden />}
      <span className={css.name}>
        <bdi>{name}</bdi>
      </span>
      {count && <Counts of={count} />}
    </>
  );
  return (
    <>
      <Ends />
      {onNode ? (
        <button type="button" className={className} title={said} onClick={() => onNode(node.id)}>
          {inside}
          <span className="visually-hidden">{said.slice(name.length)}</span>
        </button>
      ) : (
        <div className={className} title={said}>
          {inside}
        </div>
      )}
    </>
  );
}

/** saidOf says counts in words. */
const saidOf = ({ threads, by }: Counted) =>
  `${many(threads)} thread${threads === 1 ? "" : "s"}: ${by.map((b) => `${many(b.count)} ${b.status}`).join(", ")}`;

const Point = ({ data }: NodeProps) => {
  const { node } = (data as NodeData).placed;
  return (
    <>
      <Ends />
      <div className={`${css.point} ${css[node.kind]}`} role="img" aria-label={node.kind} title={node.kind}>
        {node.kind === "anywhere" && "?"}
      </div>
    </>
  );
};

const Box = ({ data }: NodeProps) => {
  const { placed, state, count, onNode } = data as NodeData;
  const look = state ? lookOf(state) : undefined;
  const name = marked(placed.node.name);
  return (
    <div className={[css.box, look && css.lit, look && css[look.tone]].filter(Boolean).join(" ")}>
      {count && onNode ? (
        <button type="button" onClick={() => onNode(placed.node.id)}>
          <bdi>{name}</bdi> <Counts of={count} />
          <span className="visually-hidden">{`, ${saidOf(count)}`}</span>
        </button>
      ) : (
        <bdi>{name}</bdi>
      )}
    </div>
  );
};

function WayLine({ data }: EdgeProps) {
  const { way, lit } = data as { way: Way; lit: boolean };
  const middle = way.points[Math.floor(way.points.length / 2)];
  return (
    <>
      <BaseEdge
        path={pathOf(way.points)}
        className={[css.way, way.kind && way.kind !== "join" && css.maybe, lit && css.gone].filter(Boolean).join(" ")}
        markerEnd={undefined}
      />
      <Arrow points={way.points} lit={lit} />
      {way.kind && middle && (
        <text x={middle.x} y={middle.y} className={css.kind} textAnchor="middle" dominantBaseline="central">
          {marked(way.says)}
        </text>
      )}
    </>
  );
}

/** Arrow is the end of a way. */
function Arrow({ points, lit }: { points: Way["points"]; lit: boolean }) {
  const [before, last] = points.slice(-2);
  if (!before || !last) return null;
  const turn = (Math.atan2(last.y - before.y, last.x - before.x) * 180) / Math.PI;
  return (
    <path
      d="M-6,-3.5L0,0L-6,3.5"
      className={lit ? `${css.arrow} ${css.gone}` : css.arrow}
      transform={`translate(${last.x},${last.y}) rotate(${turn})`}
    />
  );
}

const nodeTypes = {
  node: Node,
  command: Node,
  task: Node,
  remote: Node,
  subgraph: Box,
  start: Point,
  end: Point,
  anywhere: Point,
};
const edgeTypes = { way: WayLine };
