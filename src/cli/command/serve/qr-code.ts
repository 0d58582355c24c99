/** Renders a QR code in a terminal, so that a phone can open a link too long to type. */
import { generate } from "lean-qr";

/** Light modules on each side. Readers need fewer than the four of the standard on a screen. */
const MARGIN = 2;
const BLACK_ON_WHITE = "\u001B[38;5;16;48;5;231m";
const RESET = "\u001B[0m";

export interface QrCodeOptions {
  readonly hasColors: boolean;
  /** Available columns. */
  readonly width: number;
}

/** Draws two modules per character, one above the other. Undefined if it does not fit. */
export function renderQrCode(
  text: string,
  { hasColors, width }: QrCodeOptions,
): readonly string[] | undefined {
  const code = generate(text);
  const end = code.size + MARGIN;
  if (end + MARGIN > width) return undefined;
  // Without colors, most terminals are light on dark, so the light modules are drawn.
  const isDrawn = (x: number, y: number) => code.get(x, y) === hasColors && y < end;
  const rows: string[] = [];
  for (let y = -MARGIN; y < end; y += 2) {
    let row = "";
    for (let x = -MARGIN; x < end; x += 1)
      row += BLOCKS[halvesOf(isDrawn(x, y), isDrawn(x, y + 1))];
    rows.push(hasColors ? `${BLACK_ON_WHITE}${row}${RESET}` : row);
  }
  return rows;
}

const BLOCKS = { neither: " ", upper: "▀", lower: "▄", both: "█" };

function halvesOf(isUpper: boolean, isLower: boolean): keyof typeof BLOCKS {
  if (isUpper) return isLower ? "both" : "upper";
  return isLower ? "lower" : "neither";
}
