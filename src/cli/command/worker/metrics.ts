/** A worker's completed turns and backlog, in the Prometheus text format. */
import type { RunningWork, WorkLoad } from "../../../stores/index.ts";
import { settlesWithin } from "../../../util/index.ts";

/** A scrape does not wait for the database as long as the worker would. */
const ANSWER_MS = 2000;

type Watched = Pick<RunningWork, "running" | "measure">;

/** Whether the worker can work, and how busy it is. */
export interface WorkerState {
  readonly status: "starting" | "ok" | "unreachable" | "stopping";
  readonly running: number;
  readonly load?: WorkLoad;
}

export class WorkerMetrics {
  readonly #queue: string;
  readonly #turns = new Map<string, { count: number; seconds: number }>();
  #work: Watched | undefined;
  #isStopping = false;

  constructor(queue: string) {
    this.#queue = queue;
  }

  watch(work: Watched): void {
    this.#work = work;
  }

  stop(): void {
    this.#isStopping = true;
  }

  /** Counts a finished turn and its duration. */
  count(outcome: string, ms: number): void {
    const { count = 0, seconds = 0 } = this.#turns.get(outcome) ?? {};
    this.#turns.set(outcome, { count: count + 1, seconds: seconds + ms / 1000 });
  }

  /** Queries the database. */
  async read(): Promise<WorkerState> {
    if (this.#work === undefined) return { status: "starting", running: 0 };
    const { running } = this.#work;
    if (this.#isStopping) return { status: "stopping", running };
    const measured = this.#work.measure().catch(() => undefined);
    const load = (await settlesWithin(measured, ANSWER_MS)) ? await measured : undefined;
    return load === undefined
      ? { status: "unreachable", running }
      : { status: "ok", running, load };
  }

  /** See https://prometheus.io/docs/instrumenting/exposition_formats/. */
  async text(): Promise<string> {
    const { status, running, load } = await this.read();
    const queue = { queue: this.#queue };
    const turns = [...this.#turns];
    return [
      ...metric("jp_worker_up", "gauge", "1 if the worker can reach the database.", [
        [queue, status === "ok" ? 1 : 0],
      ]),
      ...metric("jp_worker_turns_running", "gauge", "Turns that run here.", [[queue, running]]),
      ...metric(
        "jp_worker_turns_total",
        "counter",
        "Turns that ran here, by how they ended.",
        turns.map(([outcome, { count }]) => [{ ...queue, outcome }, count]),
      ),
      ...metric(
        "jp_worker_turn_seconds_total",
        "counter",
        "How long they ran.",
        turns.map(([outcome, { seconds }]) => [{ ...queue, outcome }, seconds]),
      ),
      ...(load === undefined ? [] : loadMetrics(queue, load)),
    ]
      .map((line) => `${line}\n`)
      .join("");
  }
}

type Labels = Readonly<Record<string, string>>;

function loadMetrics(
  queue: Labels,
  { ready, oldestReadyMs, waiting }: WorkLoad,
): readonly string[] {
  return [
    ...metric("jp_queue_ready", "gauge", "Turns that could go on, and that no worker has.", [
      [queue, ready],
    ]),
    ...metric("jp_queue_oldest_ready_seconds", "gauge", "For how long the first of them could.", [
      [queue, oldestReadyMs / 1000],
    ]),
    ...metric("jp_queue_waiting", "gauge", "Turns that wait for someone, or for a time.", [
      [queue, waiting],
    ]),
  ];
}

// oxlint-disable-next-line max-params -- the parts of a metric, in their order
function metric(
  name: string,
  type: "gauge" | "counter",
  help: string,
  values: readonly (readonly [Labels, number])[],
): readonly string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...values.map(([labels, value]) => `${name}{${labelsOf(labels)}} ${value}`),
  ];
}

function labelsOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",");
}
