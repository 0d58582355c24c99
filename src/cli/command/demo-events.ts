/** The script of `jp demo`: one turn in which every kind of asker and answerer occurs. */
import {
  type ConversationEvent,
  type Decider,
  type InquiryId,
  type InquiryOutcome,
  type Timestamp,
  timestampFromDate,
} from "../../conversation/index.ts";
import {
  booleanQuestion,
  type InquirySource,
  type Question,
  secretQuestion,
  selectQuestion,
} from "../../tool/index.ts";

const DIFF = `--- package.json
+++ package.json
@@ -2,3 +2,3 @@
   "name": "shop",
-  "version": "1.1.4",
+  "version": "1.2.0",`;

const person: Decider = { kind: "user", channel: "terminal" };

export function demoEvents(start: Date): ConversationEvent[] {
  const script = new Script(start);
  script.say({ type: "turn_start" });
  script.say({ type: "chat_request", content: "Bump the version to 1.2.0 and publish it." });
  script.call({ id: "call_1", name: "fs_modify_file", parameters: { path: "package.json" } }, [
    {
      question: booleanQuestion("apply_changes", "Apply this change?", {
        context: DIFF,
        default: true,
      }),
      outcome: { outcome: "answered", answer: true, answeredBy: person },
    },
  ]);
  script.call(
    { id: "call_2", name: "ask_user", parameters: { question: "Which channel should get it?" } },
    [
      {
        source: { source: "assistant" },
        question: selectQuestion("answer", "Which channel should get it?", {
          options: ["latest", "next"],
          exclusive: true,
          persistence: "none",
        }),
        outcome: { outcome: "answered", answer: "next", answeredBy: person },
      },
    ],
  );
  script.call({ id: "call_3", name: "npm_publish", parameters: { tag: "next" } }, [
    {
      question: booleanQuestion("provenance", "Attach a provenance statement?"),
      outcome: {
        outcome: "answered",
        answer: true,
        answeredBy: {
          kind: "config",
          key: "conversation.tools.npm_publish.questions.provenance.answer",
        },
      },
    },
    {
      question: secretQuestion("otp", "One-time password for the registry"),
      outcome: { outcome: "redacted", answeredBy: person },
    },
    {
      question: booleanQuestion("announce", "Announce the release?", { exclusive: true }),
      outcome: { outcome: "cancelled", reason: "user" },
    },
  ]);
  script.say({
    type: "chat_response",
    content: {
      type: "message",
      text: "Version 1.2.0 is published as `next`. It is not announced.",
    },
  });
  return script.events;
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
}

interface Exchange {
  readonly question: Question;
  readonly source?: InquirySource;
  readonly outcome: InquiryOutcome;
}

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "timestamp"> : never;

class Script {
  readonly events: ConversationEvent[] = [];
  #time: number;

  constructor(start: Date) {
    this.#time = start.getTime() - 60_000;
  }

  say(event: WithoutTime<ConversationEvent>): void {
    this.events.push({ ...event, timestamp: this.#tick() });
  }

  call({ id, name, parameters }: Call, asked: readonly Exchange[]): void {
    this.say({ type: "tool_call_request", id, name, arguments: parameters });
    const tool: InquirySource = { source: "tool", name };
    for (const { question, source = tool, outcome } of asked) {
      const { id: questionId, ...rest } = question;
      const inquiryId = `${id}.${questionId}.1` as InquiryId;
      this.say({
        type: "inquiry_request",
        id: inquiryId,
        source,
        question: rest,
        toolCallId: id,
        questionId,
      });
      this.say({ type: "inquiry_response", id: inquiryId, ...outcome });
    }
    this.say({ type: "tool_call_response", id, content: "Done.", isError: false });
  }

  #tick(): Timestamp {
    this.#time += 1_500;
    return timestampFromDate(new Date(this.#time));
  }
}
