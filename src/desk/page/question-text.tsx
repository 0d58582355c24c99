/** All there is to read about a decision: the question, its context, the call, where its tool comes from, the result. */
import type { VNode } from "preact";
import {
  describeChanged,
  describeOrigin,
  isDiff,
  verbatimLines,
  verbatimProseLines,
} from "../../render/index.ts";
import { isOver, type Item } from "./item.ts";
import { Markdown } from "./markdown.tsx";
import { Drawn, Notice, Value } from "./parts.tsx";
import { Arguments, MAX_DRAWN, Verbatim } from "./verbatim.tsx";

/** Nothing of it is folded where a yes acts. */
export function QuestionText({
  item,
  name,
}: {
  readonly item: Item;
  readonly name: string;
}): VNode {
  const { question, result, changed } = item;
  const args = item.arguments;
  return (
    <div class="question-text">
      {changed !== undefined && (
        <Notice kind="hint">
          This is asked again: {describeChanged(changed)} changed since it was decided before.
        </Notice>
      )}
      <div class="question-line" role="heading" aria-level={2} id={`${name}-question`}>
        <Text item={item} />
      </div>
      {question.context !== undefined && <Context text={question.context} acts={item.acts} />}
      <Source item={item} />
      {args !== undefined && (
        <>
          <h3>Arguments</h3>
          <Arguments value={args} />
        </>
      )}
      {result !== undefined && (
        <>
          <h3>{result.is_error ? "Result (an error)" : "Result"}</h3>
          <Verbatim text={result.content} label="Result" />
        </>
      )}
    </div>
  );
}

/** Without Markdown: `__init__.py` is a name. */
function Text({ item: { question, acts } }: { readonly item: Item }): VNode {
  if (!acts) {
    const lines = verbatimProseLines(question.text);
    return (
      <span class="prose" dir="auto">
        {lines.join("\n")}
      </span>
    );
  }
  return <Drawn text={verbatimLines(question.text, { marksDirection: false }).join("\n")} />;
}

/** Whatever a yes acts on is shown as it is, and so are diffs. Only other prose is Markdown. */
function Context({ text, acts }: { readonly text: string; readonly acts: boolean }): VNode {
  const isChange = isDiff(text.split("\n"));
  if (!acts && !isChange) return <Markdown text={text} />;
  return <Verbatim text={text} label={isChange ? "Change" : "Context"} />;
}

/** What would run, and where. */
function Source({ item }: { readonly item: Item }): VNode {
  const { tool, origin, folder, answered_digest: decided = item.digest } = item;
  return (
    <dl class="source-facts">
      <div>
        <dt>Tool</dt>
        <dd>
          <Value text={tool} />
        </dd>
      </div>
      {origin !== undefined && (
        <div>
          <dt>Source</dt>
          <dd>
            <Drawn text={describeOrigin(origin)} />
          </dd>
        </div>
      )}
      {folder !== undefined && (
        <div>
          <dt>Folder</dt>
          <dd>
            <Value text={folder} />
            {folder === "." && " (the workspace)"}
          </dd>
        </div>
      )}
      {isOver(item) && decided !== undefined && (
        <div>
          <dt>Digest</dt>
          <dd>
            <Value text={decided} />
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Whether the page can show all of it. What it cannot show, no one can approve here. */
export function isReadable({ question, arguments: args = {} }: Item): boolean {
  const { context = "", answerType } = question;
  const options = answerType.type === "select" ? answerType.options : [];
  const texts = [context, ...Object.values(args), ...options.map(({ preview = "" }) => preview)];
  return texts.every((text) => JSON.stringify(text).length <= MAX_DRAWN);
}
