/** What a question, a permission, a delivery or a doubt says: text, context, arguments and result. */
import type { VNode } from "preact";
import { isDiff } from "../../render/index.ts";
import { Arguments, Code } from "./code.tsx";
import type { Item } from "./item.ts";
import { Markdown } from "./markdown.tsx";

/** Everything to read before answering. */
export function QuestionText({
  item,
  name,
}: {
  readonly item: Item;
  readonly name: string;
}): VNode {
  const { question, kind, result } = item;
  const args = item.arguments;
  // Of a call in doubt, the context repeats the arguments.
  const context = kind === "in_doubt" && args !== undefined ? undefined : question.context;
  return (
    <div class="question-text">
      <div class="question-line" role="heading" aria-level={2} id={`${name}-question`}>
        <Markdown text={question.text} />
      </div>
      {context !== undefined && <Context text={context} />}
      {args !== undefined && (
        <>
          <h3>Arguments</h3>
          <Arguments value={args} />
        </>
      )}
      {result !== undefined && (
        <>
          <h3>{result.isError ? "Result (an error)" : "Result"}</h3>
          <Code text={result.content} label="Result" />
        </>
      )}
    </div>
  );
}

/** Markdown, unless it is a diff, whose signs would be taken for lists. */
function Context({ text }: { readonly text: string }): VNode {
  return isDiff(text.split("\n")) ? <Code text={text} label="Change" /> : <Markdown text={text} />;
}
