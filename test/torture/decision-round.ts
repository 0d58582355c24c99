/**
 * One round of decisions: calls wait for a permission and an answer, their scripts change once someone has said yes, and
 * they are asked about again. One of the processes has a fault. Then the turn goes on until it is over.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { JsonObject } from "../../src/util/index.ts";
import { type ChainThen, problemsOfChain, readChainText } from "./check-chain.ts";
import { problemsOfDecisions } from "./check-decisions.ts";
import { endOrphans, findStrayFiles } from "./leftovers.ts";
import { makePlace, type Workplace } from "./place.ts";
import type { DecisionPlan, Fault } from "./plan.ts";
import { conversationFolders, conversationOf, type RoundResult } from "./round.ts";
import { runTurnProcess, type TurnRun } from "./turn-process.ts";

export interface DecisionRound {
  readonly name: string;
  /** The process that has the fault: see `COURSES`. */
  readonly step: number;
  readonly fault: Fault;
  readonly course: keyof typeof COURSES;
}

/** The processes of an undisturbed round, in order. The scripts change before the first answer takes effect. */
export const COURSES = {
  deferred: ["turn", "answer", "turn", "answer", "turn"],
  /** The turn is one process, whose questions others answer. */
  live: ["turn", "answer", "answer"],
} as const satisfies Readonly<Record<string, readonly DecisionPlan["work"][]>>;

/** The scripts change after this step of the course `deferred`. */
const CHANGE_AFTER = 1;
/** Removed after a minute, when a turn listens for offers. */
const UNFINISHED_OFFER = /\.offered\.json\.tmp$/;
/** More than it takes, however often a process dies. */
const MAX_PROCESSES = 12;

export async function runDecisionRound(
  round: DecisionRound,
  program: string,
): Promise<RoundResult> {
  const { runs, problems } = await playDecisions(round, program);
  const hit = runs.find(({ step }) => step === round.step)?.run;
  return {
    name: round.name,
    isHit: hit?.wasKilled === true || hit?.failure !== undefined,
    recorded: runs.reduce((sum, { run }) => sum + run.recorded.length, 0),
    problems,
  };
}

interface StepRun {
  readonly step: number;
  readonly run: TurnRun;
}

interface Played {
  readonly runs: readonly StepRun[];
  readonly problems: readonly string[];
}

/** The processes that ran, in order of their end, and problems as sentences. */
export async function playDecisions(round: DecisionRound, program: string): Promise<Played> {
  const place = makePlace();
  try {
    const course = new Course(place, round, program);
    await (round.course === "live" ? course.runLive() : course.runDeferred());
    await course.finish();
    const runs = course.runs.map(({ run }) => run);
    const orphans = await endOrphans(place);
    const problems = [
      ...course.problems,
      ...orphans.map((process) => `left running: ${process}`),
      ...findStrayFiles(place.root, place.data)
        .filter((file) => !UNFINISHED_OFFER.test(file))
        .map((file) => `left behind: ${file}`),
      ...problemsOfDecisions(place, runs),
      ...(await problemsOfChain(place, {
        chains: course.chains,
        wasCut: runs.some(({ wasKilled }) => wasKilled),
      })),
    ];
    return { runs: course.runs, problems };
  } finally {
    place.remove();
  }
}

class Course {
  readonly runs: StepRun[] = [];
  readonly problems: string[] = [];
  readonly chains: ChainThen[] = [];
  readonly #place: Workplace;
  readonly #round: DecisionRound;
  readonly #program: string;
  #isChanged = false;
  #running = 0;

  constructor(place: Workplace, round: DecisionRound, program: string) {
    this.#place = place;
    this.#round = round;
    this.#program = program;
    writeScripts(place, "old");
  }

  /** One process after the other. */
  async runDeferred(): Promise<void> {
    for (const [step, work] of COURSES.deferred.entries()) {
      await this.#run(step, { work });
      if (step === CHANGE_AFTER) this.#change();
    }
  }

  /** Answers what the turn asks, as soon as it has asked about both calls. */
  async runLive(): Promise<void> {
    let requests = 0;
    let asked = Promise.withResolvers<"asked">();
    const onRecorded = ({ type }: JsonObject) => {
      if (type !== "permission_request" && type !== "inquiry_request") return;
      requests += 1;
      if (requests >= 2) asked.resolve("asked");
    };
    const turn = this.#run(0, { work: "turn", isLive: true }, onRecorded).then(
      () => "over" as const,
    );
    for (let step = 1; (await Promise.race([turn, asked.promise])) === "asked"; step += 1) {
      asked = Promise.withResolvers();
      this.#change();
      await this.#run(step, { work: "answer" });
      if (this.runs.at(-1)?.run.wasKilled === true) await this.#run(-1, { work: "answer" });
    }
    this.#change();
  }

  /** Continues the turn, and answers what it asks, until it is over. */
  async finish(): Promise<void> {
    for (let count = 0; count < MAX_PROCESSES; count += 1) {
      // What a process that was killed leaves behind, the next one removes.
      if (this.runs.some(({ run }) => run.ended === "done" && !run.wasKilled)) return;
      await this.#run(-1, { work: count % 2 === 0 ? "turn" : "answer" });
    }
    this.problems.push("the turn does not end");
  }

  async #run(
    step: number,
    work: Pick<DecisionPlan, "work" | "isLive">,
    onRecorded?: (element: JsonObject) => void,
  ): Promise<void> {
    const { root, data, notes, round } = this.#place;
    const { fault, step: faulty } = this.#round;
    const [folder] = conversationFolders(this.#place);
    const isFaulty = step === faulty;
    const plan: DecisionPlan = {
      root,
      data,
      notes,
      fault: isFaulty ? fault : { type: "none" },
      ...work,
      ...(folder !== undefined && { conversation: conversationOf(folder) }),
    };
    const options = { program: this.#program, round, ...(onRecorded && { onRecorded }) };
    const isAlone = this.#running === 0;
    this.#running += 1;
    const run = await runTurnProcess(plan, options);
    this.#running -= 1;
    this.runs.push({ step, run });
    // One that offers its answer to another is told of it as soon as it can read it.
    const answered = isAlone ? run.answered : [];
    this.chains.push({ ...run, answered, text: readChainText(this.#place) });
    if (run.isHanging) this.problems.push(`process ${step} hangs`);
    if (run.wasKilled) {
      // Whoever decides about a doubt looks whether the tool has done its work.
      const left = this.#running > 0 ? [] : await endOrphans(this.#place);
      this.problems.push(...left.map((process) => `left running: ${process}`));
    } else if (run.failure !== undefined && !isFaulty) {
      this.problems.push(`process ${step} has failed: ${run.failure.message}`);
    } else if (run.end === undefined) {
      this.problems.push(`process ${step} has crashed: ${run.errors}`);
    }
  }

  #change(): void {
    if (!this.#isChanged) writeScripts(this.#place, "new");
    this.#isChanged = true;
  }
}

/** One does its work at once, the other one asks first. Both log the version that did its work, and how long the chain was. */
function writeScripts({ root }: Workplace, version: "old" | "new"): void {
  const work = (tool: string) => `links=0
for chain in .jp/conversations/*/decisions.jsonl; do
  [ ! -e "$chain" ] || while read -r _; do links=$((links + 1)); done <"$chain"
done
printf '%s\\n' "${tool} ${version} $links" >>"$TORTURE_NOTES/effects"
echo done
`;
  const read = "read -r document || exit 1\n";
  const ask = `case $document in *'"answers":{}'*)
  echo '{"type":"needs_input","question":{"id":"sure","text":"Pack?","answer_type":"Boolean"}}'
  exit ;;
esac
`;
  writeFileSync(path.join(root, "ship.sh"), `${read}${work("ship")}`);
  writeFileSync(path.join(root, "pack.sh"), `${read}${ask}${work("pack")}`);
}
