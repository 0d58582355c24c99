/** Makes the PNG files of a browser small: 256 colors are enough for pictures of text. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const HEADER_BYTES = 13;
const MAX_COLORS = 256;

interface Image {
  readonly width: number;
  readonly height: number;
  /** One number per pixel: red, green and blue. */
  readonly colors: Uint32Array;
}

/** Takes a PNG with 8 bits for each of red, green and blue, with or without alpha, which is ignored. */
export function toPalette(png: Buffer): Buffer {
  const { width, height, colors } = decode(png);
  const palette = mostFrequent(colors);
  const indexes = new Map(palette.map((color, index) => [color, index]));
  const rows = Buffer.alloc(height * (width + 1)); // Each row starts with its filter, which is none.
  for (const [position, color] of colors.entries()) {
    const index = indexes.get(color) ?? nearest(palette, color);
    indexes.set(color, index);
    rows[position + Math.floor(position / width) + 1] = index;
  }
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8); // Eight bits per pixel, which are an index into the palette.
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap(channels))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function decode(png: Buffer): Image {
  const parts: Buffer[] = [];
  let header = Buffer.alloc(0);
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") header = Buffer.from(data);
    if (type === "IDAT") parts.push(data);
    at += length + 12;
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const bytes = header[9] === 6 ? 4 : 3;
  const rows = unfilter(inflateSync(Buffer.concat(parts)), width * bytes, bytes);
  const colors = new Uint32Array(width * height);
  for (let pixel = 0; pixel < colors.length; pixel += 1) {
    colors[pixel] = rows.readUIntBE(pixel * bytes, 3);
  }
  return { width, height, colors };
}

/** Undoes the filters of the rows: see the PNG specification, section 9. */
function unfilter(data: Buffer, rowBytes: number, pixelBytes: number): Buffer {
  const height = data.length / (rowBytes + 1);
  const rows = Buffer.alloc(height * rowBytes);
  const byte = (row: number, column: number) =>
    row < 0 || column < 0 ? 0 : (rows[row * rowBytes + column] ?? 0);
  for (let row = 0; row < height; row += 1) {
    const filter = data[row * (rowBytes + 1)] ?? 0;
    for (let column = 0; column < rowBytes; column += 1) {
      const left = byte(row, column - pixelBytes);
      const up = byte(row - 1, column);
      const corner = column < pixelBytes ? 0 : byte(row - 1, column - pixelBytes);
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      rows[row * rowBytes + column] = (data[row * (rowBytes + 1) + 1 + column] ?? 0) + predicted;
    }
  }
  return rows;
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner;
  const to = (value: number) => Math.abs(estimate - value);
  if (to(left) <= to(up) && to(left) <= to(corner)) return left;
  return to(up) <= to(corner) ? up : corner;
}

function mostFrequent(colors: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const sorted = [...counts].toSorted(([one, many], [other, few]) => few - many || one - other);
  return sorted.slice(0, MAX_COLORS).map(([color]) => color);
}

function nearest(palette: readonly number[], color: number): number {
  const distances = palette.map((other) => distance(channels(color), channels(other)));
  return distances.indexOf(Math.min(...distances));
}

function distance(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + (value - (other[index] ?? 0)) ** 2, 0);
}

function channels(color: number): readonly number[] {
  return [color >> 16, (color >> 8) & 255, color & 255];
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
