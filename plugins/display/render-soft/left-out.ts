/** Looks of format 1 that this renderer leaves out, by the names of the contract suite of renderers, and what it paints instead. */
export const LEFT_OUT = {
  gradients: 'one colour, the mean of its colours',
  shadows: 'nothing',
  layers: 'each node of a translucent group by itself',
  'round clips': 'a clip with square corners',
  miters: 'round corners of lines',
  motion: 'its end, or a step a second where it takes long; the character rests in its state',
  fades: 'their end',
  'JPEG and WebP': 'a field with the label',
  sprites: 'a field with the label',
  streams: 'a field with the label',
} as const;
