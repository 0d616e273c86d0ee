// Files that are pasted, dropped or chosen: images and text go with the message.

import { tell } from './core.js';

/** Bytes of one text file; larger ones belong into the project. */
const LARGEST_TEXT = 512 * 1024;
const LARGEST_IMAGE = 5 * 1024 * 1024;
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Chips for files of the user's computer. What cannot be sent is told and left out. */
export async function chipsOf(files) {
  const chips = await Promise.all(files.map((file) => (IMAGES.has(file.type) ? imageChip(file) : textChip(file))));
  const refused = chips.filter((chip) => chip.refused).map((chip) => chip.refused);
  if (refused.length > 0) tell(refused.join('. '), 'error');
  return chips.filter((chip) => !chip.refused);
}

async function imageChip(file) {
  if (file.size > LARGEST_IMAGE) return { refused: `${file.name} is larger than 5 MB` };
  // The name of a file says nothing about what is in it.
  if (!await isImage(file)) return { refused: `${file.name} is not an image that can be read` };
  const address = await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  return { kind: 'image', name: file.name, data: address.slice(address.indexOf(',') + 1), address };
}

async function isImage(file) {
  try {
    (await createImageBitmap(file)).close();
    return true;
  } catch {
    return false;
  }
}

async function textChip(file) {
  if (file.size > LARGEST_TEXT) return { refused: `${file.name} is larger than 512 KB; attach it from the project with @` };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes('\0')) throw new TypeError('binary');
    return { kind: 'text', name: file.name, text };
  } catch {
    return { refused: `${file.name} is neither text nor an image` };
  }
}
