import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

/** StringValue, or BinaryValue in base64. */
export type Attribute = { DataType: string; StringValue?: string; BinaryValue?: string };
export type Attributes = Record<string, Attribute>;

// Web Crypto has no MD5 outside of Workers.
export const md5 = (text: string): string => createHash('md5').update(text).digest('hex');
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The MD5 of attributes that clients check: names, types and values by name, each after its length. */
export function md5OfAttributes(attributes: Attributes): string {
  const hash = createHash('md5');
  const add = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  };
  for (const name of Object.keys(attributes).toSorted()) {
    const { DataType, StringValue, BinaryValue = '' } = attributes[name] as Attribute;
    add(Buffer.from(name));
    add(Buffer.from(DataType));
    const isText = StringValue !== undefined;
    hash.update(Buffer.from([isText ? 1 : 2]));
    add(isText ? Buffer.from(StringValue) : Buffer.from(BinaryValue, 'base64'));
  }
  return hash.digest('hex');
}
