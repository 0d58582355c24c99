/**
 * The permissions of one reply that wait at the same time: the person is asked once for all of them, and each gets its
 * own result, as if it had been asked alone.
 */
import type { PermissionRequest, PermissionsRequest, Prompter, PromptResult } from "./ports.ts";

/** One permission of the group. */
export interface GroupMember {
  /** Undefined if the person decided only about others, or a member no longer waits: it has to be asked again then. */
  ask(request: PermissionRequest, prompter: Prompter): Promise<PromptResult | undefined>;
  /** It no longer needs to be asked, so the others do not wait for it. */
  leave(): void;
}

interface Asking {
  readonly request: PermissionRequest;
  readonly prompter: Prompter;
  readonly resolve: (result: PromptResult | undefined | Promise<PromptResult>) => void;
  readonly reject: (error: unknown) => void;
}

/** Asks once all of its members have asked or left. */
export class PromptGroup {
  /** In the order in which they joined; undefined for those that have not asked. */
  readonly #members: (Asking | undefined)[] = [];
  /** How many have neither asked nor left. */
  #missing = 0;

  join(): GroupMember {
    this.#missing += 1;
    const place = this.#members.push(undefined) - 1;
    let isMissing = true;
    const arrive = () => {
      if (!isMissing) return;
      isMissing = false;
      this.#missing -= 1;
      if (this.#missing === 0) void this.#askAll();
    };
    return {
      ask: (request, prompter) => {
        const { promise, resolve, reject } = Promise.withResolvers<PromptResult | undefined>();
        this.#members[place] = { request, prompter, resolve, reject };
        arrive();
        return promise;
      },
      leave: arrive,
    };
  }

  /** In the order of the calls. Never throws: each caller of `ask` gets the error. */
  async #askAll(): Promise<void> {
    const asking = this.#members.filter((member) => member !== undefined);
    const [first, ...others] = asking;
    if (first === undefined) return;
    const { prompter } = first;
    try {
      if (others.length === 0) return first.resolve(prompter.ask(first.request));
      const all = asking.map(({ request }) => request);
      const request = requestFor(first.request, all);
      const results = resultsFor(request, await prompter.ask(request));
      for (const [index, { resolve }] of asking.entries()) resolve(results[index]);
    } catch (error) {
      for (const { reject } of asking) reject(error);
    }
  }
}

function requestFor(
  first: PermissionRequest,
  calls: readonly PermissionRequest[],
): PermissionsRequest {
  const {
    question: _question,
    canRemember: _canRemember,
    grants: _grants,
    checkGrant: _checkGrant,
    isEditing: _isEditing,
    isDecidedAlone: _isDecidedAlone,
    check: _check,
    changed: _changed,
    ...base
  } = first;
  const signal = AbortSignal.any(calls.map((call) => call.signal));
  return { ...base, kind: "permissions", signal, calls };
}

/** In the order of the calls. Undefined for those that have to be asked again. */
function resultsFor(
  { calls, signal }: PermissionsRequest,
  result: PromptResult,
): readonly (PromptResult | undefined)[] {
  if (result.type === "answered") throw new Error("the answer is for one call of several");
  if (result.type !== "form") {
    // If one call closed the prompt, the others still wait.
    return calls.map(({ inquiryId, signal: own }) =>
      signal.aborted && !own.aborted ? undefined : { ...result, inquiryId },
    );
  }
  const { results, userName } = result;
  const by = userName === undefined ? {} : { userName };
  const given = calls.map(({ inquiryId }) => {
    const own = results.find((each) => each.inquiryId === inquiryId);
    return own && { ...by, ...own };
  });
  // Otherwise it would be asked forever.
  if (given.every((own) => own === undefined)) throw new Error("the result decides about no call");
  return given;
}
