/** A QR code as an SVG path. Loaded on demand. */
import { generate } from "lean-qr";

export interface QrCode {
  /** One square per dark module. */
  readonly path: string;
  /** Modules per side, without the margin. */
  readonly size: number;
}

export function toQrCode(text: string): QrCode {
  const code = generate(text);
  const squares: string[] = [];
  for (let y = 0; y < code.size; y += 1) {
    for (let x = 0; x < code.size; x += 1) if (code.get(x, y)) squares.push(`M${x} ${y}h1v1h-1z`);
  }
  return { path: squares.join(""), size: code.size };
}
