/** What the Core answers to this page. */
import type { Answers } from '../../core/answers.ts';

export type DisplayState = Answers['display.state'];

export type Surface = Surfaces['surfaces'][number];

export type Surfaces = Answers['display.surfaces'];

export type Target = NonNullable<Described['targets']>[number];

export type Described = Answers['display.describe'];

/** Of a surface: CPU milliseconds of a frame. */
export const frameMs = ({ frames, cpuMs }: Pick<Surface, 'frames' | 'cpuMs'>): number | undefined =>
  frames && cpuMs !== undefined ? cpuMs / frames : undefined;
