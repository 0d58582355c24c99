/** The fields of one question, for its answer type, note and reuse. */
import type { ComponentChildren, VNode } from "preact";
import { describeOptions } from "../../render/index.ts";
import type { SelectType } from "../../../record/tool/index.ts";
import { type Json, neutralize } from "../../../util/index.ts";
import { allowsNote, canRedirect, canRemember, type Draft } from "./draft.ts";
import { questionId } from "./heading.tsx";
import { drawing, type Item, showValue } from "./item.ts";
import { Line, Notice, Value } from "./parts.tsx";
import { Verbatim } from "./verbatim.tsx";

/** One question's draft and its setter. */
export interface FieldProps {
  readonly item: Item;
  /** Unique on the page, for labels. */
  readonly name: string;
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
}

/** The fields that hold the answer itself. */
export function AnswerFields(props: FieldProps): VNode {
  const { item, name, draft, onDraft } = props;
  const { answerType } = item.question;
  switch (answerType.type) {
    case "boolean":
      return <YesOrNo {...props} />;
    case "select":
      return <Options {...props} select={answerType} />;
    case "secret":
      return item.is_live === true ? <Secret {...props} /> : <SecretElsewhere item={item} />;
    case "text":
      return (
        <Area
          id={`${name}-text`}
          label="Answer"
          value={draft.text}
          onValue={(text) => onDraft({ ...draft, text })}
        />
      );
    default:
      return answerType satisfies never;
  }
}

/** A note, and whether the answer applies to the rest of the turn. */
export function ExtraFields({ item, name, draft, onDraft }: FieldProps): VNode {
  return (
    <>
      {allowsNote(item, draft) && (
        <Area
          id={`${name}-note`}
          label={item.kind === "question" ? "Note (optional)" : "Reason (optional)"}
          rows={2}
          value={draft.note}
          onValue={(note) => onDraft({ ...draft, note })}
        />
      )}
      {canRedirect(item, draft) && (
        <label class="choice">
          <input
            type="checkbox"
            checked={draft.redirects === true}
            onChange={({ currentTarget }) =>
              onDraft({ ...draft, redirects: currentTarget.checked })
            }
          />
          <span>Do this instead: send it as the next message, and skip calls that wait</span>
        </label>
      )}
      {canRemember(item) && (
        <label class="choice">
          <input
            type="checkbox"
            checked={draft.isRemembered}
            onChange={({ currentTarget }) =>
              onDraft({ ...draft, isRemembered: currentTarget.checked })
            }
          />
          <span>
            {item.kind === "permission"
              ? "Apply to calls of this tool in this turn that can do no more"
              : "Remember this answer for the rest of the turn"}
            {item.question.rememberAs !== undefined && (
              <>
                {": "}
                <Value text={item.question.rememberAs} />
              </>
            )}
          </span>
        </label>
      )}
    </>
  );
}

function YesOrNo({ name, draft, onDraft }: FieldProps): VNode {
  return (
    <div class="choices inline" role="radiogroup" aria-labelledby={questionId(name)}>
      {[true, false].map((truth) => (
        <label class="choice" key={String(truth)}>
          <input
            type="radio"
            name={name}
            checked={draft.truth === truth}
            onChange={() => onDraft({ ...draft, truth })}
          />
          <span>{truth ? "Yes" : "No"}</span>
        </label>
      ))}
    </div>
  );
}

function Options({
  item,
  name,
  draft,
  onDraft,
  select,
}: FieldProps & { readonly select: SelectType }): VNode {
  const { options, isMultiple = false, allowsOther = false } = select;
  const type = isMultiple ? "checkbox" : "radio";
  const choose = (index: number, isChosen: boolean) => {
    if (!isMultiple) return onDraft({ ...draft, chosen: [index], isOther: false });
    const others = draft.chosen.filter((other) => other !== index);
    onDraft({ ...draft, chosen: isChosen ? [...others, index] : others });
  };
  const chooseOther = (isOther: boolean) =>
    onDraft({ ...draft, isOther, ...(isOther && !isMultiple && { chosen: [] }) });
  return (
    <div
      class="choices"
      role={isMultiple ? "group" : "radiogroup"}
      aria-labelledby={questionId(name)}
    >
      {isMultiple && <p class="hint">Choose any number.</p>}
      {describeOptions(options, drawing(item)).map(({ label, ...shown }, index) => (
        <Option key={index} item={item} label={label} value={options[index]?.value} {...shown}>
          <input
            type={type}
            name={name}
            checked={draft.chosen.includes(index)}
            onChange={({ currentTarget }) => choose(index, currentTarget.checked)}
          />
        </Option>
      ))}
      {allowsOther && (
        <Option item={item} label={item.kind === "in_doubt" ? "Give a result" : "Other"}>
          <input
            type={type}
            name={name}
            checked={draft.isOther}
            onChange={({ currentTarget }) => chooseOther(currentTarget.checked)}
          />
        </Option>
      )}
      {draft.isOther && (
        <Area
          id={`${name}-other`}
          label={item.kind === "in_doubt" ? "What the model gets as the result" : "Your own answer"}
          rows={2}
          value={draft.other}
          onValue={(other) => onDraft({ ...draft, other })}
        />
      )}
    </div>
  );
}

interface OptionProps {
  readonly item: Item;
  /** As drawn, like `description`. */
  readonly label: string;
  readonly description?: string;
  readonly preview?: string;
  /** The value, if it differs from the label. */
  readonly typed?: string;
  readonly value?: Json | undefined;
  readonly children: ComponentChildren;
}

function Option({ item, label, description, preview, ...option }: OptionProps): VNode {
  const { typed, value, children } = option;
  const style = item.acts ? "verbatim" : "prose";
  // If the answer does not act, the default is preselected instead.
  const isSuggested = item.acts && value !== undefined && value === item.question.default;
  return (
    <div class="option">
      <label class="choice">
        {children}
        <span>
          <bdi class={`value ${style}`}>{label}</bdi>
          {isSuggested && <span class="badge">suggested</span>}
          {item.acts && typed !== undefined && showValue(typed) !== label && (
            <span class="description">
              is sent as <Value text={typed} />
            </span>
          )}
          {description !== undefined && (
            <span class={`description ${style}`} dir={item.acts ? "ltr" : "auto"}>
              {description}
            </span>
          )}
        </span>
      </label>
      {preview !== undefined && (
        <Verbatim text={preview} label={`Preview of ${label}`} folds={!item.acts} />
      )}
    </div>
  );
}

function Secret({ name, draft, onDraft }: FieldProps): VNode {
  return (
    <div class="field">
      <label for={`${name}-secret`}>Secret</label>
      <input
        id={`${name}-secret`}
        type="password"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={draft.text}
        onInput={({ currentTarget }) => onDraft({ ...draft, text: currentTarget.value })}
      />
      <p class="hint">
        Only the tool that asks receives it. It is not recorded or sent to a model.
      </p>
    </div>
  );
}

/** Only a waiting process can take a secret, since secrets are never stored. */
function SecretElsewhere({ item }: { readonly item: Item }): VNode {
  return (
    <Notice kind="hint">
      No process is waiting for this secret, and secrets are never stored. To enter it, continue the
      turn in a terminal in <code class="verbatim">{showValue(item.workspace)}</code>:
      <code class="command">jp query --continue-turn --id {showValue(item.conversation)}</code>
    </Notice>
  );
}

interface AreaProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly rows?: number;
  readonly onValue: (value: string) => void;
}

/** A multi-line text field. */
export function Area({ id, label, value, rows = 4, onValue }: AreaProps): VNode {
  const hidden = hiddenIn(value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        dir="auto"
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
      {hidden !== undefined && (
        <Notice kind="hint">
          This text contains hidden characters: <Line text={hidden} />
        </Notice>
      )}
    </div>
  );
}

/** The first line with invisible characters. */
function hiddenIn(text: string): string | undefined {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const line = lines.find((each) => neutralize(each) !== each);
  return line?.slice(0, 500);
}
