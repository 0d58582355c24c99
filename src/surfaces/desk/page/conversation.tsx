/** The view of one conversation, live while it runs: messages, calls, questions and answers. */
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { describeVoidCause, verbatimProse } from "../../render/index.ts";
import { keptFileBaseName } from "../../../record/conversation/index.ts";
import type { JsonObject } from "../../../util/index.ts";
import type { ConversationAddress, ConversationJson, OutcomeJson } from "../wire.ts";
import { StateBadge } from "./conversations.tsx";
import { argumentsLine, ASSISTANT, describeBy, describeEnd, showValue, summaryOf } from "./item.ts";
import { Subject } from "./heading.tsx";
import { Markdown } from "./markdown.tsx";
import { Ago, Drawn, Fact, Line, messageOf, Notice, Summary, Title, Value } from "./parts.tsx";
import { inquiryLink } from "./route.ts";
import { useDesk, useEvents } from "./session.ts";
import {
  type CallBlock,
  type FileBlock,
  type Step,
  type TimelineBlock,
  toTimeline,
} from "./timeline.ts";
import { Arguments, JsonBlock, Verbatim } from "./verbatim.tsx";

/** Blocks drawn at first, from the end; a button draws more. */
const STEP = 150;

export function ConversationView({ address }: { readonly address: ConversationAddress }): VNode {
  const { conversation, events, problem } = useConversation(address);
  const [count, setCount] = useState(STEP);
  const blocks = useMemo(() => toTimeline(events ?? []), [events]);
  const shown = blocks.slice(-count);
  useEndInView(events !== undefined);
  const state = conversation?.state;
  return (
    <>
      <Title>
        <Line text={conversation?.title ?? address.conversation} />
      </Title>
      <p class="facts">
        <span>{state === undefined ? "complete" : <StateBadge state={state} />}</span>
      </p>
      <details class="details">
        <summary>Details</summary>
        <dl class="source-facts">
          <Fact name="ID">
            <Line text={address.conversation} />
          </Fact>
          {conversation !== undefined && (
            <Fact name="Workspace">
              <Value text={conversation.workspace} />
            </Fact>
          )}
        </dl>
      </details>
      {problem !== undefined && <Notice>{problem}</Notice>}
      {events === undefined && problem === undefined && <p>Loading …</p>}
      {events?.length === 0 && <p class="empty">Nothing has been said yet.</p>}
      {blocks.length > count && (
        <button type="button" onClick={() => setCount(count + STEP)}>
          Show {Math.min(STEP, blocks.length - count)} earlier parts
        </button>
      )}
      <ol class="timeline">
        {shown.map((block, index) => (
          <li key={blocks.length - shown.length + index} class={`block block-${block.type}`}>
            <BlockView block={block} address={address} isRunning={state === "running"} />
          </li>
        ))}
      </ol>
      <Waiting address={address} />
      <Continue address={address} state={state} />
    </>
  );
}

/** Within this distance from the end, in pixels, the reader follows new content. */
const NEAR_END = 60;

/**
 * Opens the conversation at its end and stays there while it is drawn and new parts arrive, until the person scrolls
 * up.
 */
function useEndInView(isLoaded: boolean): void {
  useEffect(() => {
    if (!isLoaded) return;
    const page = document.documentElement;
    let isFollowing = true;
    let [top, height] = [window.scrollY, page.scrollHeight];
    const showEnd = () => {
      if (isFollowing) window.scrollTo({ top: page.scrollHeight, behavior: "instant" });
    };
    const onScroll = () => {
      const isNearEnd = window.scrollY + window.innerHeight >= page.scrollHeight - NEAR_END;
      // The browser itself scrolls up if the page gets shorter.
      const isUp = window.scrollY < top && page.scrollHeight >= height;
      isFollowing = isNearEnd || (isFollowing && !isUp);
      [top, height] = [window.scrollY, page.scrollHeight];
    };
    const observer = new ResizeObserver(showEnd);
    observer.observe(document.body);
    window.addEventListener("scroll", onScroll);
    showEnd();
    return () => {
      observer.disconnect();
      window.removeEventListener("scroll", onScroll);
    };
  }, [isLoaded]);
}

interface Loaded {
  readonly conversation?: ConversationJson;
  readonly events?: readonly JsonObject[];
}

/** Reads new events as they arrive. One request at a time, so that no event comes twice. */
function useConversation(
  address: ConversationAddress,
): Loaded & { readonly problem?: string | undefined } {
  const { client, generation } = useDesk();
  const [loaded, setLoaded] = useState<Loaded>({});
  const [problem, setProblem] = useState<string>();
  const reading = useRef(Promise.resolve());
  const known = useRef<Loaded>({});
  const readNow = async (isFresh: boolean) => {
    try {
      const before = isFresh ? [] : (known.current.events ?? []);
      const { conversation, events } = await client.conversation(address, before.length);
      known.current = { conversation, events: [...before, ...events] };
      setLoaded(known.current);
      setProblem(undefined);
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const read = (isFresh: boolean) => {
    reading.current = reading.current.then(() => readNow(isFresh));
  };
  const { conversation, workspace } = address;
  useEffect(() => read(true), [conversation, workspace, generation]);
  useEvents(
    ({ type, data }) => {
      if (type !== "conversation" || data.id !== conversation) return;
      if (workspace !== undefined && data.workspace !== workspace) return;
      const count = "count" in data ? data.count : Infinity;
      // Fewer than before: the end was removed.
      read(count < (known.current.events?.length ?? 0));
    },
    [conversation, workspace],
  );
  return { ...loaded, problem };
}

interface BlockProps {
  readonly block: TimelineBlock;
  readonly address: ConversationAddress;
  /** A process works on the conversation. */
  readonly isRunning: boolean;
}

function BlockView({ block, address, isRunning }: BlockProps): VNode {
  switch (block.type) {
    case "turn":
      return (
        <h2>
          Turn {block.number}
          {block.at !== undefined && (
            <span class="hint">
              {" "}
              <Ago at={block.at} />
            </span>
          )}
        </h2>
      );
    case "user":
      return <UserMessage {...block} />;
    case "assistant":
      return (
        <>
          <h3>Assistant</h3>
          <Markdown text={block.text} />
        </>
      );
    case "reasoning":
      return (
        <details>
          <summary>Reasoning</summary>
          <Markdown text={block.text} />
        </details>
      );
    case "data":
      return (
        <>
          <h3>Assistant</h3>
          <JsonBlock value={block.data} label="Data" folds />
        </>
      );
    case "file":
      return <FileView file={block} address={address} />;
    case "call":
      return <CallView call={block} address={address} isRunning={isRunning} />;
    case "end":
      return <p class="hint prose">{verbatimProse(block.text)}</p>;
    default:
      return block satisfies never;
  }
}

type UserBlock = Extract<TimelineBlock, { readonly type: "user" }>;

function UserMessage({ author, text, isSteering, files }: UserBlock): VNode {
  return (
    <>
      <h3>
        <Line text={author ?? "User"} />
      </h3>
      {isSteering && <p class="hint">Sent while the turn was running.</p>}
      <Markdown text={text} />
      {files.map((file, index) => (
        <p key={index} class="hint">
          Attached: <Line text={file} />
        </p>
      ))}
    </>
  );
}

const LATER_MS = 60_000;

/** The page's token is not in the address of a link, so it fetches the file itself. */
function FileView({
  file: { mediaType, digest, size },
  address,
}: {
  readonly file: FileBlock;
  readonly address: ConversationAddress;
}): VNode {
  const { client, say } = useDesk();
  const download = async () => {
    try {
      const bytes = await client.file(address, digest);
      const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = keptFileBaseName({ mediaType, digest });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), LATER_MS); // Some browsers read it only after the click.
    } catch (error) {
      say(messageOf(error));
    }
  };
  return (
    <p>
      The model sent a file: <Line text={mediaType} />, {Math.ceil(size / 1000)} kB{" "}
      <button type="button" onClick={() => void download()}>
        Download
      </button>
    </p>
  );
}

interface CallProps extends Omit<BlockProps, "block"> {
  readonly call: CallBlock;
}

function CallView({ call, address, isRunning }: CallProps): VNode {
  const { name, steps, result } = call;
  // The question below says the same.
  const isAsking = steps.some((step) => step.type === "question" && step.asker === ASSISTANT);
  return (
    <>
      <h3>
        Called <Value text={name} />
      </h3>
      {Object.keys(call.arguments).length > 0 && (
        <details>
          <summary>
            {isAsking ? "Arguments" : <Drawn text={argumentsLine(call.arguments)} />}
          </summary>
          <Arguments value={call.arguments} folds />
        </details>
      )}
      {steps.length > 0 && (
        <ul class="steps">
          {steps.map((step, index) => (
            <li key={index}>
              <StepView step={step} address={address} />
            </li>
          ))}
        </ul>
      )}
      {isRunning && call.isUnderway && <p class="hint">Running …</p>}
      {result !== undefined && (
        <details>
          <summary>
            {result.isError ? "Error: " : "Result: "}
            <Drawn text={summaryOf(result.content, showValue)} />
          </summary>
          <Verbatim text={result.content} label="Result" folds />
        </details>
      )}
    </>
  );
}

const ACTIONS: Readonly<Record<string, string>> = {
  run: "Run",
  deliver: "Show the result",
  rerun: "Run again",
};

function StepView({
  step,
  address,
}: {
  readonly step: Step;
  readonly address: ConversationAddress;
}): VNode {
  if (step.type === "question") {
    const { asker, text, end } = step;
    return (
      <>
        <strong>
          <Line text={asker} />
        </strong>{" "}
        asked:{" "}
        <a href={inquiryLink({ ...address, id: step.id })}>
          <Summary text={text} acts={step.acts} />
        </a>
        <br />
        {end === undefined ? (
          <span class="urgent">waiting for an answer</span>
        ) : (
          <End end={end} madeVoid={step.madeVoid} />
        )}
      </>
    );
  }
  const action = Object.hasOwn(ACTIONS, step.action)
    ? ACTIONS[step.action]
    : showValue(step.action);
  if (step.type === "asked") {
    return (
      <>
        {action}:{" "}
        <a class="urgent" href={inquiryLink({ ...address, id: step.id })}>
          waiting for a decision
        </a>
      </>
    );
  }
  return (
    <>
      {action}: <End end={step.end} madeVoid={step.madeVoid} />
    </>
  );
}

interface EndProps {
  readonly end: OutcomeJson;
  readonly madeVoid: readonly string[] | undefined;
}

/** The outcome, and who decided. */
function End({ end, madeVoid }: EndProps): VNode {
  const { answered_by: by, note } = end;
  return (
    <span class="prose">
      <strong>{describeEnd(end)}</strong>
      {by !== undefined && ` by ${describeBy(by)}`}
      {note !== undefined && `, note: ${verbatimProse(note)}`}
      {madeVoid !== undefined && <span class="urgent">, void: {describeVoidCause(madeVoid)}</span>}
    </span>
  );
}

/** This conversation's pending decisions. */
function Waiting({ address }: { readonly address: ConversationAddress }): VNode | null {
  const items = useWaiting(address);
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="waiting" class="question">
      <h2 id="waiting">Waiting for you</h2>
      <ul class="plain-list">
        {items.map((item) => (
          <li key={item.key}>
            <a data-item href={inquiryLink(item)}>
              <Subject item={item} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function useWaiting({ conversation, workspace }: ConversationAddress) {
  const { items } = useDesk().inbox;
  return items.filter(
    (item) =>
      item.conversation === conversation &&
      (workspace === undefined || item.workspace === workspace),
  );
}

interface ContinueProps {
  readonly address: ConversationAddress;
  readonly state: string | undefined;
}

/** Shown only if the server runs turns, the turn is open, no process runs it, and nothing is pending. */
function Continue({ address, state }: ContinueProps): VNode | null {
  const { client, me, say } = useDesk();
  const [problem, setProblem] = useState<string>();
  const isIdle = state !== undefined && !/^(running|waiting)/.test(state);
  const waiting = useWaiting(address);
  const resume = async () => {
    try {
      await client.resume(address);
      setProblem(undefined);
      say("The turn continues.");
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  if (!me.runs || !isIdle || waiting.length > 0) return null;
  return (
    <div class="actions">
      <button type="button" class="primary" onClick={() => void resume()}>
        Continue
      </button>
      {problem !== undefined && <Notice>{problem}</Notice>}
    </div>
  );
}
