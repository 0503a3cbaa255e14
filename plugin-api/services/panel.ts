import { serviceRef } from '../contract/service-ref.ts';
import type { Rect } from '../scene/rect.ts';

/** `rgb565`: 2 bytes, little endian. `xrgb8888`: 4 bytes: blue, green, red, nothing. */
export type PixelFormat = 'rgb565' | 'xrgb8888';
export const PIXEL_BYTES = { rgb565: 2, xrgb8888: 4 } as const;

export interface PanelInfo {
  /** `sim`, `headless`, `fbdev`, `drm`. */
  readonly driver: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Hz. */
  readonly refresh: number;
  /** It can be dimmed, switched off. What it cannot, `display` does by painting. */
  readonly brightness: boolean;
  readonly power: boolean;
}

export interface PanelFrame {
  /** Counts up from 1 since the renderer was opened. */
  readonly seq: number;
  /** At most 8, none over another, in the order of `pixels`. */
  readonly rects: readonly Rect[];
  /** Rows of each rectangle, from the top, without gaps, in the format of the panel. Handed over: the caller does not look at it again. */
  readonly pixels: Uint8Array;
}

/**
 * The glass, provided by one plugin of the SKU (`panel-sim`, `panel-headless`, `panel-fbdev`, `panel-drm`). Every
 * method may reject with PANEL_UNAVAILABLE.
 */
export interface Panel {
  info(): Promise<PanelInfo>;
  /**
   * Puts rectangles on the glass, all at once where it can flip. Resolves when it may take the next frame, with the
   * monotonic time (`monotonicMs()`) at which this one is seen. One at a time. Rejects with PANEL_UNAVAILABLE and
   * PARAMS_INVALID (rectangles outside, another number of bytes).
   */
  present(frame: PanelFrame): Promise<{ readonly at: number }>;
  power(on: boolean): Promise<void>;
  /** 0..1 */
  brightness(level: number): Promise<void>;
  /** Called after it was lost, came back or changed its size: whoever paints begins anew with a whole frame. */
  onChange(listener: (state: { readonly problem?: string }) => void): Disposable;
}

export const panel = serviceRef<Panel>('panel', '1.0.0', 'powerful', 'draws over everything and sees the whole screen');
