/** The dialog that opens the desk on another device, with a one-time login link as a QR code. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { loginLink } from "./route.ts";
import { Line, messageOf, Notice } from "./parts.tsx";
import type { QrCode } from "./qr-code.ts";
import { useDesk } from "./session.ts";

interface PhoneProps {
  /** How often the dialog was opened. Each opening gets a new link. */
  readonly openings: number;
}

export function Phone({ openings }: PhoneProps): VNode {
  const { client, me } = useDesk();
  const dialog = useRef<HTMLDialogElement>(null);
  const [code, setCode] = useState<QrCode>();
  const [problem, setProblem] = useState<string>();
  const load = async () => {
    setProblem(undefined);
    try {
      const { toQrCode } = await import("./qr-code.ts");
      const { login } = await client.createLogin();
      setCode(toQrCode(loginLink(location.href, login)));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  useEffect(() => {
    if (openings === 0) return;
    dialog.current?.showModal();
    if (!isLocal(location.hostname)) void load();
  }, [openings]);
  return (
    <dialog ref={dialog} aria-labelledby="phone" onClose={() => setCode(undefined)}>
      <h2 id="phone">Open on your phone</h2>
      {isLocal(location.hostname) ? (
        <p>
          Only this machine can reach this desk. For a phone, start it with an address that the
          phone can reach: <code>jp serve --help</code>
        </p>
      ) : (
        <p>
          Scan this with your phone’s camera. It logs in as <Line text={me.name} />, once, within
          ten minutes: do not show it to anyone else.
        </p>
      )}
      {problem !== undefined && <Notice>{problem}</Notice>}
      {code !== undefined && <Picture code={code} />}
      <button type="button" class="primary" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

/** Such a name resolves to the local machine everywhere. */
function isLocal(name: string): boolean {
  return /^(?:localhost|\[::1\]|127(?:\.\d+){3})$|\.localhost$/.test(name);
}

/** Black on white, also on a dark page: not all phones read inverted codes. */
function Picture({ code: { path, size } }: { readonly code: QrCode }): VNode {
  return (
    <svg
      class="qr-code"
      viewBox={`-4 -4 ${size + 8} ${size + 8}`}
      role="img"
      aria-label="QR code of a link that logs in"
      shape-rendering="crispEdges"
    >
      <rect x="-4" y="-4" width={size + 8} height={size + 8} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
