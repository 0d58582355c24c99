/**
 * Trusts an `AGENTS.md` edit that the user has seen in full and approved at this terminal, so that jp does not ask
 * about the new text again.
 */
import { realpathSync } from "node:fs";
import path from "node:path";
import type { ConversationEvent } from "../record/conversation/index.ts";
import { changeBinding } from "../reach/executor/index.ts";
import {
  findInstructions,
  type InstructionFile,
  type TurnParts,
  workspaceTrust,
} from "../assemble/index.ts";
import { messageOf } from "../util/index.ts";
import { type CommandContext, warn } from "./context.ts";

/** Sees only this process's events, so that no record can fake an approval. */
export class EditTrust {
  readonly #context: CommandContext;
  readonly #tools: TurnParts["tools"];
  readonly #trusted: Map<string, InstructionFile>;
  readonly #isShared: boolean;
  /** Bindings of the questions that jp's own tools ask, by question ID. */
  readonly #asked = new Map<string, string>();
  /** The bindings of approved changes. */
  readonly #approved = new Set<string>();
  readonly #calls = new Set<string>();

  /** `trusted` has the files as trusted when the turn started. */
  constructor(context: CommandContext, { trusted, tools, conversation }: TurnParts) {
    const { instructions } = trusted;
    this.#context = context;
    this.#isShared = conversation.isShared === true;
    this.#tools = tools;
    this.#trusted = new Map(instructions.map((file) => [file.name, file]));
  }

  /** Takes the events since the last call, up to a call's result. Never throws. */
  async read(events: readonly ConversationEvent[]): Promise<void> {
    for (const event of events) this.#read(event);
    if (this.#approved.size > 0) await this.#trustApproved();
  }

  #read(event: ConversationEvent): void {
    switch (event.type) {
      case "tool_call_request": {
        const { source } = this.#tools.settings.get(event.name) ?? {};
        // Other tools may show something other than what they do.
        if (source?.type === "builtin") this.#calls.add(event.id);
        return;
      }
      case "inquiry_request": {
        const { id, toolCallId = "", question } = event;
        const isOwn = this.#calls.has(toolCallId) && question.binding !== undefined;
        if (isOwn) this.#asked.set(id, question.binding);
        return;
      }
      case "inquiry_response": {
        const binding = this.#asked.get(event.id);
        const isYes = event.outcome === "answered" && event.answer === true;
        if (binding === undefined || !isYes) return;
        const { answeredBy: by } = event;
        if (by?.kind === "user" && by.channel === "terminal") this.#approved.add(binding);
        return;
      }
      default:
    }
  }

  async #trustApproved(): Promise<void> {
    const { cwd: folder, output, workspace } = this.#context;
    const { root } = workspace;
    try {
      const shared = this.#isShared && { sharedRoot: realpathSync(root) };
      for (const file of findInstructions({ folder, root })) {
        const before = this.#trusted.get(file.name);
        // No one has seen the rest of a truncated file.
        if (file.isCut || before?.isCut === true || before?.digest === file.digest) continue;
        const place = realpathSync(path.join(root, file.name));
        const change = { file: place, ...shared, before: before?.digest, after: file.digest };
        if (!this.#approved.has(changeBinding(change))) continue;
        const trust = workspaceTrust(this.#context, workspace);
        if (await trust.trustEdited(before, file)) this.#trusted.set(file.name, file);
      }
    } catch (error) {
      warn(`The change is not trusted yet: ${messageOf(error)}`, output);
    }
  }
}
