/** The dialog with the person's own passkeys: to add one, and to remove one. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PasskeyJson } from "../client.ts";
import { messageOf, Notice } from "./parts.tsx";
import { addPasskey } from "./passkey.ts";
import { useDesk } from "./session.ts";

export function Passkeys({ openings }: { readonly openings: number }): VNode {
  const { client } = useDesk();
  const dialog = useRef<HTMLDialogElement>(null);
  const [items, setItems] = useState<readonly PasskeyJson[]>([]);
  const [problem, setProblem] = useState<string>();
  const run = async (work: () => Promise<void>) => {
    setProblem(undefined);
    try {
      await work();
      setItems(await client.passkeys());
    } catch (error) {
      setProblem(messageOf(error));
    }
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
      {items.length > 0 && (
        <ul>
          {items.map(({ id, added }) => (
            <li key={id}>
              Added {added.slice(0, 10)} ({id.slice(0, 8)}){" "}
              <button
                type="button"
                class="quiet"
                aria-label={`Remove the passkey ${id.slice(0, 8)}`}
                onClick={() => void run(() => client.removePasskey(id))}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      {problem !== undefined && <Notice>{problem}</Notice>}
      <div class="actions">
        <button type="button" onClick={() => void run(() => addPasskey(client))}>
          Add a passkey
        </button>
        <button type="button" class="primary" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
