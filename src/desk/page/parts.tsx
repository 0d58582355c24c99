/** Small parts that several views use: names, headings, times and notices. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { verbatimProse } from "../../render/index.ts";
import { DeskError } from "../client.ts";
import { drawing, showValue, summaryOf } from "./item.ts";

/** A foreign name or line of prose. It cannot reorder what stands around it. */
export function Line({ text }: { readonly text: string }): VNode {
  return <bdi class="prose">{verbatimProse(text)}</bdi>;
}

/** A foreign value, such as a path: two that differ never look the same. */
export function Value({ text }: { readonly text: string }): VNode {
  return <Drawn text={showValue(text)} />;
}

/** The first line of a question, for lists. */
export function Summary({ text, acts }: { readonly text: string; readonly acts: boolean }): VNode {
  const line = summaryOf(text, drawing({ acts }));
  return acts ? <Drawn text={line} /> : <bdi class="prose">{line}</bdi>;
}

/** What `showValue` has made of a value. */
export function Drawn({ text }: { readonly text: string }): VNode {
  return <span class="verbatim">{text}</span>;
}

/** The heading of a view, which gets the focus when the view opens. */
export function Title({ children }: { readonly children: ComponentChildren }): VNode {
  return <h1 tabIndex={-1}>{children}</h1>;
}

/** How long ago it was, kept up to date. */
export function Waited({ since }: { readonly since: number }): VNode {
  const now = useNow(since);
  return <Time at={since}>{durationWords(now - since)}</Time>;
}

/** How much time is left, kept up to date. */
export function Deadline({ at }: { readonly at: number }): VNode {
  const now = useNow(at);
  return (
    <span class={isUrgent(at, now) ? "urgent" : ""}>
      <Time at={at}>{deadlineWords(at, now)}</Time>
    </span>
  );
}

/** A time, with the exact one for those who point at it. */
export function Time({
  at,
  children,
}: {
  readonly at: number;
  readonly children?: ComponentChildren;
}): VNode {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>unknown</span>;
  const exact = date.toLocaleString();
  return (
    <time dateTime={date.toISOString()} title={exact}>
      {children ?? exact}
    </time>
  );
}

function useNow(around: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setTimeout(() => setNow(Date.now()), nextChange(now - around) + 20);
    return () => clearTimeout(timer);
  }, [now, around]);
  return now;
}

/** A problem, read out at once; or something good to know. */
export function Notice({
  kind = "problem",
  children,
}: {
  readonly kind?: "problem" | "hint";
  readonly children: ComponentChildren;
}): VNode {
  return (
    <p class={`notice ${kind}`} role={kind === "problem" ? "alert" : "note"}>
      {children}
    </p>
  );
}

/** What went wrong, in words. */
export function messageOf(error: unknown): string {
  if (error instanceof DeskError && error.status === 403)
    return `You may not do this: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Such as `12 s`, `3 min`, `2 h 5 min`, `4 days`. */
export function durationWords(milliseconds: number): string {
  const time = Math.max(0, milliseconds);
  if (time < MINUTE) return `${Math.floor(time / SECOND)} s`;
  if (time < HOUR) return `${Math.floor(time / MINUTE)} min`;
  if (time < DAY) {
    const minutes = Math.floor((time % HOUR) / MINUTE);
    return `${Math.floor(time / HOUR)} h${minutes === 0 ? "" : ` ${minutes} min`}`;
  }
  const days = Math.floor(time / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

/** In words until when an answer counts. */
export function deadlineWords(deadline: number, now: number): string {
  return deadline <= now ? "overdue" : `due in ${durationWords(deadline - now)}`;
}

/** Whether there is so little time left that it should stand out. */
function isUrgent(deadline: number, now: number): boolean {
  return deadline - now < 5 * MINUTE;
}

/** After how long the words for this duration change. */
export function nextChange(milliseconds: number): number {
  const step = Math.abs(milliseconds) < MINUTE ? SECOND : MINUTE;
  return step - (Math.abs(milliseconds) % step);
}
