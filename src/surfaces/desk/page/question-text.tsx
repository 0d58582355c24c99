/** Everything there is to read about a decision: the question, its context, the call, its tool's origin, the result. */
import type { VNode } from "preact";
import { describeAskedAgain, describeOrigin, isDiff } from "../../render/index.ts";
import {
  fileChangeOf,
  type HeadingKind,
  questionId,
  QuestionWords,
  renderedChangeOf,
  Subject,
} from "./heading.tsx";
import { isFromTool, type Item, timeOf, unsaidOf } from "./item.ts";
import { Markdown } from "./markdown.tsx";
import { Drawn, ExactTime, Fact, Label, Line, Notice, Value } from "./parts.tsx";
import { conversationLink } from "./route.ts";
import { Arguments, MAX_DRAWN, Verbatim } from "./verbatim.tsx";

interface QuestionTextProps {
  readonly item: Item;
  readonly name: string;
  /** The words that the page's heading already shows. */
  readonly heading: HeadingKind;
}

/** The question itself: its words and its context. */
export function QuestionText({ item, name, heading }: QuestionTextProps): VNode {
  const { changed } = item;
  return (
    <div class="question-text">
      {changed !== undefined && (
        <Notice kind="hint">
          This is asked again. {describeAskedAgain(changed, "since it was decided before")}.
        </Notice>
      )}
      {(heading === "calls" || (heading === "wish" && !isWish(item))) && (
        <div class="question-line" role="heading" aria-level={2} id={questionId(name)}>
          {heading === "calls" ? <Subject item={item} /> : <QuestionWords item={item} />}
        </div>
      )}
      <Changes item={item} level={levelBelow(item, heading)} />
    </div>
  );
}

/**
 * The call that asks, as far as the question does not show it, and its result. If a yes acts, nothing else of it is
 * folded except identifiers: ids, exact times, the digest.
 */
export function CallText({ item, heading }: Omit<QuestionTextProps, "name">): VNode {
  const { result } = item;
  const args = unsaidOf(item);
  const level = levelBelow(item, heading);
  return (
    <div>
      {isFromTool(item) && <Source item={item} heading={heading} />}
      {args !== undefined && (
        <>
          <Label level={level}>Arguments</Label>
          <Arguments value={args} level={level} />
        </>
      )}
      {result !== undefined && (
        <>
          <Label level={level}>{result.is_error ? "Result (an error)" : "Result"}</Label>
          <Verbatim text={result.content} label="Result" />
        </>
      )}
    </div>
  );
}

/** Whether the question says no more than the heading: who wants to run what, or to show it. */
function isWish({ kind }: Item): boolean {
  return kind === "permission" || kind === "delivery";
}

/** The level of headings below those of the page and the question. */
function levelBelow(item: Item, heading: HeadingKind): 2 | 3 {
  return heading === "calls" || (heading === "wish" && !isWish(item)) ? 3 : 2;
}

/** The context of a question. Changes to several files each get a heading. */
function Changes({ item, level }: { readonly item: Item; readonly level: 2 | 3 }): VNode | null {
  const { context } = item.question;
  if (context === undefined) return null;
  const { files = [] } = renderedChangeOf(item) ?? {};
  if (files.length < 2 || fileChangeOf(item) === undefined) {
    return <Context text={context} acts={item.acts} />;
  }
  return (
    <>
      {files.map((file, index) => (
        <div key={index}>
          <Label level={level}>
            <Drawn text={file.heading} />
          </Label>
          <Verbatim
            text={[file.about, ...file.diff].filter(Boolean).join("\n")}
            label="Change"
            isHunks
          />
        </div>
      ))}
    </>
  );
}

/** If a yes acts, the context is shown verbatim, and so are diffs. Only other prose is Markdown. */
function Context({ text, acts }: { readonly text: string; readonly acts: boolean }): VNode {
  const isChange = isDiff(text.split("\n"));
  if (!acts && !isChange) return <Markdown text={text} />;
  return <Verbatim text={text} label={isChange ? "Change" : "Context"} />;
}

/** The tool, its origin and folder, and the question, if the heading does not show it. */
function Source({ item, heading }: Pick<QuestionTextProps, "item" | "heading">): VNode {
  const { tool, origin, folder, kind } = item;
  const isNamed = heading === "change" || (heading === "calls" && kind === "question");
  return (
    <dl class="source-facts">
      {isNamed && (
        <Fact name="Question">
          <QuestionWords item={item} />
        </Fact>
      )}
      {heading === "calls" && (
        <Fact name="Asked in">
          <a href={conversationLink(item)}>
            <Line text={item.title ?? item.conversation} />
          </a>
        </Fact>
      )}
      <Fact name="Tool">
        <Value text={tool} />
      </Fact>
      {origin !== undefined && (
        <Fact name="Source">
          <Drawn text={describeOrigin(origin)} />
        </Fact>
      )}
      {folder !== undefined && (
        <Fact name="Folder">
          <Value text={folder} />
          {folder === "." && " (the workspace)"}
        </Fact>
      )}
    </dl>
  );
}

/** The decision's identifiers, to compare it with a record, and the arguments that the question shows in its words. */
export function Details({ item }: { readonly item: Item }): VNode {
  const { workspace, conversation, id, answered_digest: decided = item.digest } = item;
  const args = item.arguments;
  const [askedAt, answeredAt] = [timeOf(item.asked_at), timeOf(item.answered_at)];
  return (
    <details class="details">
      <summary>Details</summary>
      <dl class="source-facts">
        {askedAt !== undefined && (
          <Fact name="Asked">
            <ExactTime at={askedAt} />
          </Fact>
        )}
        {answeredAt !== undefined && (
          <Fact name="Decided">
            <ExactTime at={answeredAt} />
          </Fact>
        )}
        <Fact name="Workspace">
          <Value text={workspace} />
        </Fact>
        <Fact name="IDs">
          <Line text={conversation} /> <Line text={id} />
        </Fact>
        {decided !== undefined && (
          <Fact name="Digest">
            <Value text={decided} />
          </Fact>
        )}
      </dl>
      {!isFromTool(item) && <Source item={item} heading="wish" />}
      {args !== undefined && unsaidOf(item) !== args && <Arguments value={args} level={2} />}
    </details>
  );
}

/** Whether the page can show all of it. What it cannot show cannot be approved here. */
export function isReadable({ question, arguments: args = {} }: Item): boolean {
  const { context = "", answerType } = question;
  const options = answerType.type === "select" ? answerType.options : [];
  const texts = [context, ...Object.values(args), ...options.map(({ preview = "" }) => preview)];
  return texts.every((text) => JSON.stringify(text).length <= MAX_DRAWN);
}
