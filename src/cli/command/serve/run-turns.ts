/** `jp serve --run`: continues turns in separate processes, one at a time per conversation. */
import type { ConversationRef, ResumeResult } from "../../../surfaces/desk/index.ts";
import { type ProcessEnd, runProcess } from "../../../reach/process/index.ts";
import { messageOf, oneLine, shellWord } from "../../../util/index.ts";
import { type CommandContext, FILES, findDatabase, warn } from "../../context.ts";
import { DENIED, WAITING } from "../../exit-status.ts";

/**
 * Output is not kept: the reply is on record, and notices are printed as they arrive. The server itself has two
 * seconds to stop.
 */
const LIMITS = { stdoutBytes: 0, stderrBytes: 0, killGraceMs: 1500, pipeGraceMs: 200 };
/** A separate session, so that the active conversations of terminals do not change. */
const SESSION = "jp-serve";

interface Run {
  /** An answer arrived while the process was running, and it may have missed it. */
  hasNewAnswer: boolean;
  readonly ended: Promise<void>;
}

export class TurnRunner implements AsyncDisposable {
  readonly #context: CommandContext;
  readonly #stop = new AbortController();
  /** By workspace and conversation. */
  readonly #runs = new Map<string, Run>();

  constructor(context: CommandContext) {
    this.#context = context;
  }

  /** Continues a turn of the workspace at `root`, and prints how it ends. */
  resume({ conversation: id }: ConversationRef, root: string): ResumeResult {
    if (this.#stop.signal.aborted) return { type: "refused", message: "The server is stopping." };
    const key = JSON.stringify([root, id]);
    const running = this.#runs.get(key);
    if (running === undefined) {
      const ended = this.#run(key, { id, root }).finally(() => this.#runs.delete(key));
      this.#runs.set(key, { hasNewAnswer: false, ended });
    } else {
      running.hasNewAnswer = true;
    }
    return { type: "started" };
  }

  /** Stops the processes, as Ctrl-C does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  async #run(key: string, turn: RunningTurn): Promise<void> {
    const { output } = this.#context;
    const print = (line: string) => output.notice(`${turn.id}: ${oneLine(line)}`);
    for (;;) {
      print("Continuing the turn.");
      const end = await this.#continueTurn(turn, print);
      const status = end.type === "exited" && "status" in end.exit ? end.exit.status : undefined;
      if (end.type === "cancelled") return print("Stopped with the server.");
      if (status === 0 || status === DENIED) return print("The turn is complete.");
      const run = this.#runs.get(key);
      if (status !== WAITING) return this.#reportFailure(turn, end);
      if (run?.hasNewAnswer !== true) return print("The turn is waiting for another answer.");
      run.hasNewAnswer = false;
    }
  }

  async #continueTurn(
    { id, root }: RunningTurn,
    print: (line: string) => void,
  ): Promise<ProcessEnd> {
    const { host, environment, database } = this.#context;
    // Passes on `--store` only. The process reads the config itself: an address there may contain a password.
    const usual = await findDatabase(environment, undefined);
    const store = usual?.url === database?.url ? {} : { JP_STORE: database?.url ?? FILES };
    const [program, ...args] = host.self;
    const words = ["query", "--continue-turn", "--id", id, "--non-interactive", "--defer"];
    return runProcess({
      program,
      args: [...args, ...words],
      cwd: root,
      variables: { ...environment.variables, ...store, JP_SESSION: SESSION },
      input: "",
      signal: this.#stop.signal,
      onLine: print,
      limits: LIMITS,
    });
  }

  #reportFailure({ id, root }: RunningTurn, end: ProcessEnd): void {
    const { output } = this.#context;
    warn(`${id}: the turn could not be continued: ${explain(end)}.`, output);
    output.notice(
      `To try it yourself: jp --workspace ${shellWord(root)} query --continue-turn --id ${id}`,
    );
  }
}

interface RunningTurn {
  readonly id: string;
  readonly root: string;
}

function explain(end: ProcessEnd): string {
  if (end.type === "not_started") return messageOf(end.error);
  if (end.type !== "exited") return end.type;
  return "status" in end.exit ? `exit status ${end.exit.status}` : `ended by ${end.exit.signal}`;
}
