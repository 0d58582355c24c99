/**
 * A turn must end, and end in order, whatever the program does that runs it: a prompter may ignore its signal,
 * and `canAsk` or an observer may throw.
 */
import { emitWarning } from "node:process";
import { type Clock, messageOf } from "../util/index.ts";
import type { NoAnswer, NoAnswerReason, Observer, PromptBase, Prompter } from "./ports.ts";

/** How long a prompt may take to close after its signal was aborted. */
export const CLOSING_MS = 2000;

/**
 * A prompter whose prompts always close: one that does not in time is abandoned, as if it had returned
 * `interrupted`, and what it returns later is ignored. Its `canAsk` never throws.
 */
export function guardPrompter(prompter: Prompter, clock: Clock): Prompter {
  const { unavailableBecause } = prompter;
  const askForm = prompter.askForm?.bind(prompter);
  const warn = warnOnce("The prompter's canAsk failed");
  return {
    get channel() {
      return prompter.channel;
    },
    ...(unavailableBecause !== undefined && { unavailableBecause }),
    canAsk: (toolCallId) => {
      try {
        return prompter.canAsk(toolCallId);
      } catch (error) {
        warn(error);
        return false;
      }
    },
    ask: async (request) => {
      const { inquiryId } = request;
      const result = await untilClosed(() => prompter.ask(request), request, clock);
      return result === "abandoned" ? { ...INTERRUPTED, inquiryId } : known(result, ["answered"]);
    },
    ...(askForm !== undefined && {
      askForm: async (request) => {
        const result = await untilClosed(() => askForm(request), request, clock);
        return result === "abandoned" ? INTERRUPTED : known(result, ["answered"]);
      },
    }),
    askPermission: async (request) => {
      const result = await untilClosed(() => prompter.askPermission(request), request, clock);
      return result === "abandoned" ? INTERRUPTED : known(result, ["run", "skip"]);
    },
    askDelivery: async (request) => {
      const result = await untilClosed(() => prompter.askDelivery(request), request, clock);
      return result === "abandoned" ? INTERRUPTED : known(result, ["deliver", "withhold"]);
    },
  };
}

const INTERRUPTED: NoAnswer = { type: "interrupted" };

/** A prompt that fails because it was aborted was closed too. Otherwise throws what it throws. */
async function untilClosed<Result>(
  ask: () => Promise<Result>,
  { signal }: Pick<PromptBase, "signal">,
  clock: Clock,
): Promise<Result | "abandoned"> {
  const settled = new AbortController();
  const abandoned = Promise.withResolvers<"abandoned">();
  const abandon = () => abandoned.resolve("abandoned");
  const onAbort = () => {
    clock.sleep(CLOSING_MS, settled.signal).then(abandon, () => undefined); // Rejects once settled.
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([ask(), abandoned.promise]);
  } catch (error) {
    if (signal.aborted) return "abandoned";
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    settled.abort();
  }
}

const NO_ANSWER: readonly NoAnswer["type"][] = ["cancelled", "interrupted", "later", "unanswered"];
const REASONS: readonly NoAnswerReason[] = ["timed_out", "unavailable"];

/** Programs without types may return anything, which must not pass for a decision. */
function known<Result extends { readonly type: string }>(
  result: Result,
  types: readonly string[],
): Result {
  const given: unknown = result;
  if (typeof given !== "object" || given === null || !("type" in given)) {
    throw new Error("the prompter returned no result");
  }
  const { type } = result;
  if (!types.includes(type) && !NO_ANSWER.some((each) => each === type)) {
    throw new Error(`the prompter returned a result of an unknown type: ${JSON.stringify(type)}`);
  }
  if (type === "unanswered" && !REASONS.some((each) => "reason" in given && each === given.reason))
    throw new Error("the prompter returned an unknown reason for having no answer");
  return result;
}

/** An observer that cannot fail. It gets every update, also after an error. */
export function guardObserver(observer: Observer): Observer {
  const warn = warnOnce("The observer of a turn failed");
  return {
    observe: (update) => {
      try {
        const observed: unknown = observer.observe(update); // An async function can be passed too.
        if (observed instanceof Promise) observed.catch(warn);
      } catch (error) {
        warn(error);
      }
    },
  };
}

/** Of many errors of the same kind, the first says enough. */
function warnOnce(what: string): (error: unknown) => void {
  let hasWarned = false;
  return (error) => {
    if (hasWarned) return;
    hasWarned = true;
    const detail = error instanceof Error ? error.stack : undefined;
    const options = { type: "JpWarning", ...(detail !== undefined && { detail }) };
    emitWarning(`${what}, and the turn continued: ${messageOf(error)}`, options);
  };
}
