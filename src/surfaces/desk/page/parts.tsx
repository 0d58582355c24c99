/** Small parts shared by several views: names, headings, times and notices. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { describeVotes, relativeTime, verbatimProse } from "../../render/index.ts";
import { DeskError } from "../client.ts";
import { drawing, type Item, showValue, summaryOf } from "./item.ts";

/** An untrusted name or line of prose. It cannot reorder the text around it. */
export function Line({ text }: { readonly text: string }): VNode {
  return <bdi class="prose">{verbatimProse(text)}</bdi>;
}

/** An untrusted value, such as a path: two different values never look the same. */
export function Value({ text }: { readonly text: string }): VNode {
  return <Drawn text={showValue(text)} />;
}

/** The first line of a question, for lists. */
export function Summary({ text, acts }: { readonly text: string; readonly acts: boolean }): VNode {
  const line = summaryOf(text, drawing({ acts }));
  return acts ? <Drawn text={line} /> : <bdi class="prose">{line}</bdi>;
}

/** A value drawn by `showValue`. */
export function Drawn({ text }: { readonly text: string }): VNode {
  return <span class="verbatim">{text}</span>;
}

/** The heading of a view, which gets the focus when the view opens. */
export function Title({
  id,
  children,
}: {
  readonly id?: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <h1 id={id} tabIndex={-1}>
      {children}
    </h1>
  );
}

/** A small heading at any level. */
export function Label({
  level,
  children,
}: {
  readonly level: 2 | 3;
  readonly children: ComponentChildren;
}): VNode {
  return level === 2 ? <h2 class="label">{children}</h2> : <h3>{children}</h3>;
}

/** A row of a list of facts. */
export function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** How long ago it was, such as `2 days ago`, kept up to date. */
export function Ago({ at }: { readonly at: number }): VNode {
  const now = useNow(at);
  return <Time at={at}>{relativeTime(at, now)}</Time>;
}

/** How long it has been pending, kept up to date. */
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

/** Down to the second. */
export function ExactTime({ at }: { readonly at: number }): VNode {
  return <Time at={at}>{new Date(at).toLocaleString()}</Time>;
}

/** A time in words, with the exact one on hover. */
function Time({
  at,
  children,
}: {
  readonly at: number;
  readonly children: ComponentChildren;
}): VNode {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>unknown</span>;
  const exact = date.toLocaleString();
  return (
    <time dateTime={date.toISOString()} title={exact}>
      {children}
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

/** The minimum width for the columns of a table, or for two versions of a file. */
const WIDE = "(min-width: 60rem)";

export function useIsWide(): boolean {
  const [isWide, setIsWide] = useState(false);
  // Before the browser paints.
  useLayoutEffect(() => {
    const media = matchMedia(WIDE);
    const onChange = () => setIsWide(media.matches);
    onChange();
    media.addEventListener("change", onChange);
    return () => media.removeEventListener("change", onChange);
  }, []);
  return isWide;
}

/** A problem, announced at once, or useful information. */
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

/** The error in words. */
export function messageOf(error: unknown): string {
  if (error instanceof DeskError && error.status === 403)
    return `You may not do this: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Such as `under a minute`, `3 min`, `2 h 5 min`, `4 days`. */
export function durationWords(milliseconds: number): string {
  const time = Math.max(0, milliseconds);
  if (time < MINUTE) return "under a minute";
  if (time < HOUR) return `${Math.floor(time / MINUTE)} min`;
  if (time < DAY) {
    const minutes = Math.floor((time % HOUR) / MINUTE);
    return `${Math.floor(time / HOUR)} h${minutes === 0 ? "" : ` ${minutes} min`}`;
  }
  const days = Math.floor(time / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

/** The deadline in words. */
export function deadlineWords(deadline: number, now: number): string {
  return deadline <= now ? "overdue" : `due in ${durationWords(deadline - now)}`;
}

/** Whether the deadline is close enough to stand out. */
function isUrgent(deadline: number, now: number): boolean {
  return deadline - now < 5 * MINUTE;
}

/** The time until the words for this duration change. Positive for elapsed time, negative for time left. */
export function nextChange(milliseconds: number): number {
  const rest = Math.abs(milliseconds) % MINUTE;
  return milliseconds < 0 && rest > 0 ? rest : MINUTE - rest;
}

/** The votes so far. */
export function SoFar({ item: { votes = [] } }: { readonly item: Item }): VNode | null {
  if (votes.length === 0) return null;
  return (
    <span>
      so far: <Line text={describeVotes(votes)} />
    </span>
  );
}
