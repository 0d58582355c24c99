/** The dialog for a person's own passkeys: add, replace and remove. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { shortKey } from "../../render/index.ts";
import type { PasskeyJson } from "../client.ts";
import { messageOf, Notice } from "./parts.tsx";
import { addPasskey, removePasskey } from "./passkey.ts";
import { useDesk } from "./session.ts";

interface PasskeysProps {
  /** How often the dialog was opened. */
  readonly openings: number;
  /** The code of a link from the command line, if the page was opened with one. */
  readonly link?: string | undefined;
  readonly onLinkUsed: () => void;
}

export function Passkeys({ openings, link, onLinkUsed }: PasskeysProps): VNode {
  const { client, say } = useDesk();
  const dialog = useRef<HTMLDialogElement>(null);
  const [items, setItems] = useState<readonly PasskeyJson[]>([]);
  const [problem, setProblem] = useState<string>();
  const run = async (work: () => Promise<string | undefined>) => {
    setProblem(undefined);
    try {
      const done = await work();
      if (done !== undefined) say(done);
      setItems(await client.passkeys());
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const add = async (replaces?: string) => {
    await addPasskey(client, { link, ...(replaces !== undefined && { replaces }) });
    onLinkUsed();
    return replaces === undefined ? "Passkey added." : "Passkey replaced.";
  };
  const remove = async (id: string) => {
    await removePasskey(client, id);
    return "Passkey removed.";
  };
  useEffect(() => {
    if (openings === 0) return;
    dialog.current?.showModal();
    void run(async () => undefined);
  }, [openings]);
  return (
    <dialog ref={dialog} aria-labelledby="passkeys">
      <h2 id="passkeys">Your passkeys</h2>
      <p>With a passkey of this device or your phone, you sign what has to be signed.</p>
      <Allowance hasLink={link !== undefined} count={items.length} />
      {items.length > 0 && (
        <ul class="entries">
          {items.map((passkey) => (
            <Entry
              key={passkey.id}
              passkey={passkey}
              onReplace={() => void run(() => add(passkey.id))}
              onRemove={() => void run(() => remove(passkey.id))}
            />
          ))}
        </ul>
      )}
      {problem !== undefined && <Notice>{problem}</Notice>}
      <div class="actions">
        <button type="button" onClick={() => void run(() => add())}>
          Add a passkey
        </button>
        <button type="button" class="primary" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

interface EntryProps {
  readonly passkey: PasskeyJson;
  readonly onReplace: () => void;
  readonly onRemove: () => void;
}

function Entry({ passkey: { id, added }, onReplace, onRemove }: EntryProps): VNode {
  const name = shortKey(id);
  return (
    <li>
      <span>
        Added {added.slice(0, 10)} ({name})
      </span>
      <button
        type="button"
        class="quiet"
        aria-label={`Replace the passkey ${name}`}
        onClick={onReplace}
      >
        Replace
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={`Remove the passkey ${name}`}
        onClick={onRemove}
      >
        Remove
      </button>
    </li>
  );
}

/** The requirements for changing passkeys. */
function Allowance({
  hasLink,
  count,
}: {
  readonly hasLink: boolean;
  readonly count: number;
}): VNode {
  if (hasLink) return <p>Your link lets you add or replace one passkey.</p>;
  if (count > 0) {
    return (
      <p>To change them, one of these has to sign too. Each change ends your other sessions.</p>
    );
  }
  return (
    <p>
      Your first one at this address takes a link, which works once:{" "}
      <code>jp serve people link NAME</code>
    </p>
  );
}
