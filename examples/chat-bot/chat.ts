/** A chat such as Slack, in memory, with the people in it: each thread is a list of lines. */
import { setTimeout } from "node:timers/promises";

export interface Post {
  readonly thread: string;
  readonly user: string;
  readonly text: string;
}

export interface Message extends Post {
  readonly buttons: readonly string[];
  /** How long it waits for someone to click. */
  readonly patienceMs: number;
}

export class Chat {
  /** What people reply to a message with buttons: one of them, or anything else. No one replies to the rest. */
  readonly #people: (message: string) => Pick<Post, "user" | "text"> | undefined;
  readonly #lines: string[] = [];

  constructor(people: (message: string) => Pick<Post, "user" | "text"> | undefined) {
    this.#people = people;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  post({ thread, user, text }: Post): void {
    this.#lines.push(`#${thread} ${user}: ${text}`);
  }

  /** Posts a message with buttons. Returns who clicked which, or undefined if no one does in time. */
  async ask(message: Message, signal: AbortSignal): Promise<Post | undefined> {
    const { thread, text, buttons, patienceMs } = message;
    this.post({ ...message, text: [text, ...buttons.map((name) => `[${name}]`)].join(" ") });
    const reply = this.#people(text);
    if (reply === undefined)
      return setTimeout(patienceMs, undefined, { signal }).catch(() => undefined);
    this.post({ thread, ...reply });
    return { thread, ...reply };
  }
}
